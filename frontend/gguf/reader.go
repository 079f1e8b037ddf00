package gguf

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
)

const (
	magic            = "GGUF"
	defaultAlignment = 32
	headerBytes      = 24
	alignmentKey     = "general.alignment"
)

// File is an open GGUF file. Its methods may be called from several goroutines.
type File struct {
	name      string
	r         io.ReaderAt
	size      int64
	version   uint32
	alignment uint64
	data      int64 // offset of the tensor data

	// Keys and tensors are located by their entries in the file and not held as values, so that a file of many short
	// entries takes little more memory than its size.
	keyCount int
	keyNames *names

	tensorCount int
	tensorNames *names
	table       []byte // the tensor table, as in the file
	tableAt     int64  // its offset there

	closer io.Closer
	opened os.FileInfo // nil if the file was not opened here

	others []*File // the other parts of the model, see parts.go
}

// Open reads the header, keys and tensor table of a file, and those of the other parts of its model, which then are one
// File with it. It refuses files that are not regular: they could block forever or never end.
func Open(path string) (*File, error) {
	f, err := OpenPart(path)
	if err != nil {
		return nil, err
	}
	if err := f.openParts(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// OpenPart is Open for one file alone, even if it is a part of a model.
func OpenPart(path string) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is %s: a GGUF file is needed", path, describeMode(info.Mode()))
	}
	h, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	}
	f, err := openFile(h, path)
	if err != nil {
		h.Close()
		return nil, err
	}
	return f, nil
}

// openFile reads h and keeps it open.
func openFile(h *os.File, path string) (*File, error) {
	info, err := h.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Unwrap(err))
	}
	f, err := Read(h, info.Size(), path)
	if err != nil {
		return nil, err
	}
	f.closer, f.opened = h, info
	return f, nil
}

// describeMode names the kind of a file that is not regular.
func describeMode(m os.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&os.ModeNamedPipe != 0:
		return "a pipe"
	case m&os.ModeDevice != 0:
		return "a device"
	default:
		return "not a regular file"
	}
}

// Read reads the header, keys and tensor table of a file of size bytes. name is the file's name in errors. Read
// reports all faults of the tensor table, but only the first fault before it, which makes the rest unreadable.
func Read(r io.ReaderAt, size int64, name string) (*File, error) {
	f := &File{
		name: name, r: r, size: size, alignment: defaultAlignment,
		keyNames: newNames(size), tensorNames: newNames(size),
	}
	c := newCursor(r, size, 0)
	tensors, keys, err := f.readHeader(c)
	if err != nil {
		return nil, err
	}
	if err := f.readKeys(c, keys); err != nil {
		return nil, err
	}
	if err := f.readAlignment(); err != nil {
		return nil, err
	}
	if err := f.readTensors(c, tensors); err != nil {
		return nil, err
	}
	return f, nil
}

// Close closes the file if Open opened it.
func (f *File) Close() error {
	var errs []error
	for _, p := range f.others {
		errs = append(errs, p.Close())
	}
	if f.closer != nil {
		errs = append(errs, f.closer.Close())
	}
	return errors.Join(errs...)
}

// Name returns the path or name that the file was opened with.
func (f *File) Name() string { return f.name }

// Size returns the size of the file, or of all parts, in bytes.
func (f *File) Size() int64 {
	n := f.size
	for _, p := range f.others {
		n += p.size
	}
	return n
}

// Version returns the version of the format, 2 or 3.
func (f *File) Version() int { return int(f.version) }

// Alignment returns the alignment of tensors in bytes.
func (f *File) Alignment() int64 { return int64(f.alignment) }

// DataOffset returns where the tensor data begins in the file.
func (f *File) DataOffset() int64 { return f.data }

// Reader returns all bytes of the file, and then those of the other parts, for hashing.
func (f *File) Reader() *io.SectionReader {
	return io.NewSectionReader(append(joined{f}, f.others...), 0, f.Size())
}

// Unchanged returns an error if the size or modification time of the file or another part has changed since Open. A
// caller that has read much of the file calls it last.
func (f *File) Unchanged() error {
	errs := []error{f.unchanged()}
	for _, p := range f.others {
		errs = append(errs, p.unchanged())
	}
	return errors.Join(errs...)
}

func (f *File) unchanged() error {
	if f.opened == nil {
		return nil
	}
	now, err := os.Stat(f.name)
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, errors.Unwrap(err))
	}
	if !os.SameFile(now, f.opened) || now.Size() != f.size || !now.ModTime().Equal(f.opened.ModTime()) {
		return f.fault("", 0, errors.New("the file changed while it was read: start again"))
	}
	return nil
}

// fault makes an error about a part of the file.
func (f *File) fault(noun string, off int64, err error) error {
	return &Error{File: f.name, Noun: noun, Offset: off, Err: err}
}

// readHeader checks magic and version and returns how many tensors and keys follow.
func (f *File) readHeader(c *cursor) (tensors, keys uint64, err error) {
	if err := f.readMagic(c); err != nil {
		return 0, 0, err
	}
	f.version = c.u32("the header")
	tensors, keys = c.u64("the header"), c.u64("the header")
	switch {
	case c.err != nil:
		return 0, 0, f.fault("header", 0, c.err)
	case f.version == 2 || f.version == 3:
		return tensors, keys, nil
	case f.version&0xffff == 0 && f.version != 0:
		err = fmt.Errorf("the file is big-endian (version %d read in that order): convert it to little-endian", bits.ReverseBytes32(f.version))
	case f.version == 1:
		err = errors.New("version 1 is not supported, only 2 and 3: convert the model again")
	default:
		err = fmt.Errorf("version %d is not supported, only 2 and 3: the file is damaged or newer than this reader", f.version)
	}
	return 0, 0, f.fault("header", 4, err)
}

// readMagic checks the first four bytes.
func (f *File) readMagic(c *cursor) error {
	if f.size == 0 {
		return f.fault("header", 0, errors.New("the file is empty"))
	}
	b := c.next(int(min(f.size, int64(len(magic)))), "the header")
	switch {
	case c.err != nil:
		return f.fault("header", 0, c.err)
	case string(b) == magic:
		return nil
	case string(b) == magic[:len(b)]:
		return f.fault("header", 0, fmt.Errorf("the file ends after %d bytes: the download may be incomplete", len(b)))
	default:
		return f.fault("header", 0, fmt.Errorf("begins with %q, not %q: this is no GGUF file", b, magic))
	}
}

// readAlignment sets the alignment from general.alignment if the key is present.
func (f *File) readAlignment() error {
	k, ok := f.Key(alignmentKey)
	if !ok {
		return nil
	}
	if k.Type != Uint32 {
		return f.keyError(k, "is %v, not u32: convert the model again", k.typeName())
	}
	a, err := f.Uint(alignmentKey)
	if err != nil {
		return err
	}
	if bits.OnesCount64(a) != 1 {
		return f.keyError(k, "is %d, not a power of two: convert the model again", a)
	}
	f.alignment = a
	return nil
}
