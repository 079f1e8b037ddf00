package gguf

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

const (
	maxDims        = 4  // GGML_MAX_DIMS (ggml.h)
	maxTensorName  = 64 // "at most 64 bytes" (gguf.md)
	minTensorBytes = 8 + 1 + 4 + 8 + 4 + 8
)

// Tensor is an entry of the tensor table.
type Tensor struct {
	Name   string
	Type   TensorType
	Shape  []int // outermost first, the reverse of ggml's order; each at least 1
	Offset int64 // of the data in its file
	Size   int64 // of the data in bytes
	Entry  int64 // offset of the table's entry in its file

	part *File // its file, if that is not the first part
}

// Elems returns the number of elements.
func (t *Tensor) Elems() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// RowBytes returns the bytes of one innermost row.
func (t *Tensor) RowBytes() int {
	elems, bytes := t.Type.Block()
	return t.Shape[len(t.Shape)-1] / elems * bytes
}

// Rows returns the number of innermost rows.
func (t *Tensor) Rows() int { return t.Elems() / t.Shape[len(t.Shape)-1] }

// NumTensors returns how many tensors there are, in all parts.
func (f *File) NumTensors() int {
	n := f.tensorCount
	for _, p := range f.others {
		n += p.tensorCount
	}
	return n
}

// Tensors yields the tensor table in the order of the file, then those of the other parts.
func (f *File) Tensors() iter.Seq[*Tensor] {
	return func(yield func(*Tensor) bool) {
		for t, bad := range f.entries(f.tensorCount) {
			if bad == nil && !yield(t) {
				return
			}
		}
		for _, p := range f.others {
			for t := range p.Tensors() {
				t.part = p
				if !yield(t) {
					return
				}
			}
		}
	}
}

// entries yields the first n entries of the table, each with its fault or nil.
func (f *File) entries(n int) iter.Seq2[*Tensor, error] {
	return func(yield func(*Tensor, error) bool) {
		c := f.tableCursor(f.tableAt)
		for range n {
			t := &Tensor{Entry: c.off}
			bad := t.read(c)
			t.Offset += f.data
			if c.err != nil || !yield(t, bad) {
				return
			}
		}
	}
}

// tableCursor returns a cursor at an entry of the table, which is in memory.
func (f *File) tableCursor(entry int64) *cursor {
	return &cursor{r: f.r, size: f.size, off: entry, buf: f.table[entry-f.tableAt:]}
}

// Tensor looks a tensor up.
func (f *File) Tensor(name string) (*Tensor, bool) {
	off, ok := f.findTensor(name)
	if !ok {
		return f.elsewhere(name)
	}
	t := &Tensor{Entry: off}
	if bad := t.read(f.tableCursor(off)); bad != nil {
		return nil, false // the entry of a file that is refused
	}
	t.Offset += f.data
	return t, true
}

// elsewhere looks a tensor up in the other parts.
func (f *File) elsewhere(name string) (*Tensor, bool) {
	for _, p := range f.others {
		if t, ok := p.Tensor(name); ok {
			t.part = p
			return t, true
		}
	}
	return nil, false
}

// findTensor returns the offset of a tensor's entry in this file.
func (f *File) findTensor(name string) (int64, bool) {
	return f.tensorNames.find(name, func(off int64) bool {
		b := f.table[off-f.tableAt:]
		return len(b) >= 8+len(name) && le.Uint64(b) == uint64(len(name)) && string(b[8:8+len(name)]) == name
	})
}

// DType returns the dtype of a tensor, or an error that names tensor and type.
func (f *File) DType(t *Tensor) (dtype.DType, error) {
	d, err := t.Type.DType()
	if err != nil {
		return dtype.Invalid, f.TensorError(t.Name, "%w", err)
	}
	return d, nil
}

// TensorError returns an error about a tensor: the file and the place of the tensor's entry, followed by the text,
// which states what is wrong and what to do. The tensor may be absent.
func (f *File) TensorError(name, format string, args ...any) error {
	if off, ok := f.findTensor(name); ok {
		return f.fault("tensor "+Quote(name), off, fmt.Errorf(format, args...))
	}
	if t, ok := f.elsewhere(name); ok {
		return t.part.TensorError(name, format, args...)
	}
	return &Error{File: f.name, Err: fmt.Errorf("tensor %s: %w", Quote(name), fmt.Errorf(format, args...))}
}

// ReadTensor fills buf with the tensor's bytes from offset off on, relative to its first byte. Reading beyond its end
// is an error, as is a file that became shorter.
func (f *File) ReadTensor(t *Tensor, off int64, buf []byte) error {
	if t.part != nil && t.part != f {
		return t.part.ReadTensor(t, off, buf)
	}
	if off < 0 || off > t.Size || int64(len(buf)) > t.Size-off {
		return f.TensorError(t.Name, "bytes %d to %d were asked for, but it has %d", off, off+int64(len(buf)), t.Size)
	}
	if _, err := readFull(f.r, buf, t.Offset+off); err != nil {
		return f.TensorError(t.Name, "%w", err)
	}
	return nil
}

// readTensors reads the tensor table and checks it as a whole.
func (f *File) readTensors(c *cursor, n uint64) error {
	if n > c.left()/minTensorBytes {
		return f.fault("header", 8, fmt.Errorf("counts %d tensors, more than %d bytes can hold: %s", n, c.left(), damaged))
	}
	if err := f.loadTable(c, n); err != nil {
		return err
	}
	var all Faults
	for i := range n {
		t := Tensor{Entry: c.off}
		bad := t.read(c)
		if c.err != nil { // the rest of the table is unreadable
			all.Add(f.fault(entryNoun(&t, i, n), t.Entry, c.err))
			return all.Err(f.FileError)
		}
		if bad == nil {
			bad = f.checkDuplicate(&t)
		}
		if bad != nil {
			all.Add(f.fault(entryNoun(&t, i, n), t.Entry, bad))
			continue
		}
		f.tensorNames.add(t.Name, t.Entry)
	}
	if c.off != f.tableAt+int64(len(f.table)) {
		return f.fault("", 0, errChanged)
	}
	all.Add(f.checkCount(c, n))
	f.tensorCount = int(n)
	f.placeTensors(c.off, &all)
	return all.Err(f.FileError)
}

// loadTable reads the table of n tensors into memory and moves the cursor to its beginning. If the table cannot be
// read to its end, loadTable keeps what it could read.
func (f *File) loadTable(c *cursor, n uint64) error {
	f.tableAt = c.off
	end := newCursor(f.r, f.size, c.off)
	end.buf = c.buf
	for range n {
		if !end.skipTensor() {
			break
		}
	}
	f.table = make([]byte, end.off-f.tableAt)
	if _, err := readFull(f.r, f.table, f.tableAt); err != nil {
		return f.fault("tensor table", f.tableAt, err)
	}
	*c = *f.tableCursor(f.tableAt)
	return nil
}

// skipTensor skips an entry of the table. It reports whether the entry was readable.
func (c *cursor) skipTensor() bool {
	at := c.off
	c.skip(c.u64("the table"), "the table")
	c.skip(8*uint64(min(c.u32("the table"), maxDims))+4+8, "the table")
	if c.err != nil {
		c.off = at
	}
	return c.err == nil
}

// entryNoun names an entry of the table, by its name if that is readable.
func entryNoun(t *Tensor, i, n uint64) string {
	if t.Name == "" {
		return fmt.Sprintf("tensor %d of %d", i+1, n)
	}
	return "tensor " + Quote(t.Name)
}

// read reads an entry. It returns a fault after which the next entry is still readable. For other faults the cursor
// fails. Offset remains relative to the data.
func (t *Tensor) read(c *cursor) error {
	t.Name = c.str(maxTensorName, "the tensor's name")
	n := c.u32("the number of dimensions")
	if c.err == nil && (n == 0 || n > maxDims) {
		c.fail(fmt.Errorf("it has %d dimensions, where 1 to %d are allowed: %s", n, maxDims, damaged))
	}
	if c.err != nil {
		return nil
	}
	var dims [maxDims]uint64
	for i := range n {
		dims[i] = c.u64("the dimensions")
	}
	t.Type = TensorType(c.u32("the tensor's type"))
	off := c.u64("the tensor's offset")
	if c.err != nil {
		return nil
	}
	if err := checkText("name", t.Name); err != nil {
		return err
	}
	if off > math.MaxInt64 {
		return fmt.Errorf("its offset %d is beyond any file: %s", off, damaged)
	}
	t.Offset = int64(off)
	return t.setShape(dims[:n])
}

// setShape checks the dimensions, innermost first, against the type, and sets the size.
func (t *Tensor) setShape(dims []uint64) error {
	if err := t.Type.check(); err != nil {
		return err
	}
	elems, bytes := t.Type.Block()
	total := uint64(1)
	for i, d := range dims {
		if d == 0 || d > math.MaxInt64 {
			return fmt.Errorf("dimension %d of %v is %d: each must be at least 1: %s", i, dims, int64(d), damaged)
		}
		hi, lo := bits.Mul64(total, d)
		if hi != 0 || lo > math.MaxInt64 {
			return fmt.Errorf("dimensions %v have more than 2^63-1 elements: %s", dims, damaged)
		}
		total = lo
	}
	if dims[0]%uint64(elems) != 0 {
		return fmt.Errorf("a row has %d elements, no whole number of %v blocks of %d: %s", dims[0], t.Type, elems, damaged)
	}
	hi, size := bits.Mul64(total/uint64(elems), uint64(bytes))
	if hi != 0 || size > math.MaxInt64 || total > math.MaxInt {
		return fmt.Errorf("dimensions %v of %v take more bytes than any file has: %s", dims, t.Type, damaged)
	}
	t.Size = int64(size)
	for _, d := range slices.Backward(dims) {
		t.Shape = append(t.Shape, int(d))
	}
	return nil
}

// checkDuplicate refuses a name that another tensor has.
func (f *File) checkDuplicate(t *Tensor) error {
	if first, ok := f.findTensor(t.Name); ok {
		return fmt.Errorf("a tensor of this name is already there, after 0x%x: %s", first, damaged)
	}
	return nil
}

// checkCount checks that no further entry follows the last one. A header whose count is one too small would move the
// beginning of the data, and all weights would be garbage.
func (f *File) checkCount(c *cursor, n uint64) error {
	peek := newCursor(f.r, f.size, c.off)
	t := Tensor{Entry: c.off}
	if bad := t.read(peek); bad != nil || peek.err != nil || !plausible(t.Name) || uint64(t.Offset)%f.alignment != 0 {
		return nil
	}
	return f.fault("header", 8, fmt.Errorf("counts %d tensors, but one named %s follows at 0x%x: %s", n, Quote(t.Name), c.off, damaged))
}

// plausible reports whether a name looks like a real one.
func plausible(name string) bool {
	for _, r := range name {
		if r < ' ' || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// placeTensors converts offsets to places in the file, given the end of the table, and checks that each tensor is
// inside the file, none overlaps another, and the last one ends with the file. Gaps and any order are harmless.
func (f *File) placeTensors(end int64, all *Faults) {
	hole := -uint64(end) & (f.alignment - 1)
	if hole > uint64(f.size-end) {
		// The data would begin after the end of the file: valid only for a file without data.
		f.data = f.size
		if f.tensorNames.used > 0 {
			all.Add(f.fault("tensor data", end, fmt.Errorf("the file ends at 0x%x, before the data begins: the download may be incomplete", f.size)))
		}
		return
	}
	f.data = end + int64(hole)
	for t, bad := range f.entries(f.tensorCount) {
		if bad == nil {
			all.Add(f.checkPlace(t))
		}
	}
	if !all.Any() && f.tensorCount > 0 {
		order := f.spans()
		f.checkOverlap(order, all)
		if !all.Any() {
			all.Add(f.checkEnd(order[len(order)-1]))
		}
	}
}

// checkPlace checks that a tensor's data is aligned and inside the file.
func (f *File) checkPlace(t *Tensor) error {
	room, off := f.size-f.data, t.Offset-f.data
	switch {
	case uint64(off)%f.alignment != 0:
		return f.TensorError(t.Name, "its offset %d is no multiple of the alignment %d: %s", off, f.alignment, damaged)
	case off > room || t.Size > room-off:
		return f.TensorError(t.Name, "its %d bytes at offset %d go beyond the %d bytes of data in the file: the download may be incomplete", t.Size, off, room)
	}
	return nil
}

// span is the place of a tensor's data, and of its entry in the table.
type span struct{ from, size, entry int64 }

// spans returns the places of the file's tensors, in their order there.
func (f *File) spans() []span {
	order := make([]span, 0, f.tensorCount)
	for t := range f.Tensors() {
		order = append(order, span{t.Offset, t.Size, t.Entry})
	}
	slices.SortFunc(order, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.entry, b.entry))
	})
	return order
}

// checkOverlap compares each tensor with that of those before it in the file which ends last.
func (f *File) checkOverlap(order []span, all *Faults) {
	p := order[0]
	for _, s := range order[1:] {
		if p.from+p.size > s.from {
			all.Add(f.TensorError(f.nameAt(s.entry), "its data at 0x%x overlaps that of %s, which ends at 0x%x: %s", s.from, Quote(f.nameAt(p.entry)), p.from+p.size, damaged))
		}
		if s.from+s.size > p.from+p.size {
			p = s
		}
	}
}

// checkEnd checks that no more than padding follows the last tensor. Writers pad its end to the alignment, or not at all.
//
// More shows that the data is elsewhere. A writer that lays tensors out for a larger alignment than the file states begins
// the data at a multiple of it, one or more of the stated alignment after the place where it is read. All weights would be
// wrong, though each is inside the file. gguf-py writes such files: of several parts only the first gets the key. The
// other way round, data that is read too far back, the last tensor is not inside the file: see checkPlace.
//
// Data that begins at a multiple of a larger power of two begins there for alignments up to that as well. Then as much
// padding is right.
func (f *File) checkEnd(last span) error {
	end := last.from + last.size
	surplus := f.size - end
	if surplus < max(int64(f.alignment), f.data&-f.data) {
		return nil
	}
	return f.fault("tensor data", f.data, fmt.Errorf("%d bytes follow the last tensor, %s, which ends at 0x%x, where padding to the alignment of %d has fewer: "+
		"the data is laid out for another alignment, or something was appended: make the file again with its alignment in %s, or cut it to %d bytes if you know what was appended",
		surplus, Quote(f.nameAt(last.entry)), end, f.alignment, alignmentKey, end))
}

// nameAt returns the name of the tensor at a checked entry.
func (f *File) nameAt(entry int64) string { return f.tableCursor(entry).str(maxTensorName, "the name") }
