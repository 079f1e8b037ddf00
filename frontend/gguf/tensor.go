package gguf

import (
	"cmp"
	"fmt"
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
	Shape  []int // outermost first, each at least 1: ggml's order turned round
	Offset int64 // of the data in the file
	Size   int64 // of the data in bytes
	Entry  int64 // offset of the table's entry in the file
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

// Tensors returns the tensor table in the order of the file. The caller must not change it.
func (f *File) Tensors() []Tensor { return f.tensors }

// Tensor looks a tensor up.
func (f *File) Tensor(name string) (*Tensor, bool) {
	i, ok := f.tensorIndex[name]
	if !ok {
		return nil, false
	}
	return &f.tensors[i], true
}

// DType returns the dtype of a tensor, or an error that names tensor and type.
func (f *File) DType(t *Tensor) (dtype.DType, error) {
	d, err := t.Type.DType()
	if err != nil {
		return dtype.Invalid, f.TensorError(t.Name, "%w", err)
	}
	return d, nil
}

// TensorError makes an error about a tensor: the file and the place of the tensor's entry,
// then the text, which says what is wrong and what to do. The tensor may be absent.
func (f *File) TensorError(name, format string, args ...any) error {
	if t, ok := f.Tensor(name); ok {
		return f.fault(fmt.Sprintf("tensor %q", name), t.Entry, fmt.Errorf(format, args...))
	}
	return &Error{File: f.name, Err: fmt.Errorf("tensor %q: %w", name, fmt.Errorf(format, args...))}
}

// ReadTensor fills buf with the tensor's bytes from offset off on, 0 being its first byte.
// Reading beyond its end is a caller's mistake and an error, as is a file that got shorter.
func (f *File) ReadTensor(t *Tensor, off int64, buf []byte) error {
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
	var all faults
	for i := range n {
		t := Tensor{Entry: c.off}
		bad := t.read(c)
		if c.err != nil { // nothing after it can be told
			all.add(f.fault(entryNoun(&t, i, n), t.Entry, c.err))
			return all.join()
		}
		if bad == nil {
			bad = f.checkDuplicate(&t)
		}
		if bad != nil {
			all.add(f.fault(entryNoun(&t, i, n), t.Entry, bad))
			continue
		}
		f.tensorIndex[t.Name] = len(f.tensors)
		f.tensors = append(f.tensors, t)
	}
	if err := f.checkCount(c, n); err != nil {
		all.add(err)
	}
	f.placeTensors(c.off, &all)
	return all.join()
}

// entryNoun names an entry of the table, by its name if it could be read.
func entryNoun(t *Tensor, i, n uint64) string {
	if t.Name == "" {
		return fmt.Sprintf("tensor %d of %d", i+1, n)
	}
	return fmt.Sprintf("tensor %q", t.Name)
}

// read reads an entry. Where the table goes on behind it, what is wrong is returned; where
// that cannot be told, the cursor fails. Offset is left relative to the data.
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

// checkDuplicate refuses a name that is there already.
func (f *File) checkDuplicate(t *Tensor) error {
	if first, ok := f.Tensor(t.Name); ok {
		return fmt.Errorf("a tensor of this name is already there, after 0x%x: %s", first.Entry, damaged)
	}
	return nil
}

// checkCount looks whether another entry stands behind the last one. A header that counts
// one too few would move the beginning of the data, and every weight would be garbage.
func (f *File) checkCount(c *cursor, n uint64) error {
	peek := newCursor(f.r, f.size, c.off)
	t := Tensor{Entry: c.off}
	if bad := t.read(peek); bad != nil || peek.err != nil || !printable(t.Name) || uint64(t.Offset)%f.alignment != 0 {
		return nil
	}
	return f.fault("header", 8, fmt.Errorf("counts %d tensors, but one named %q follows at 0x%x: %s", n, t.Name, c.off, damaged))
}

// printable reports whether a name looks like one that somebody chose.
func printable(name string) bool {
	for _, r := range name {
		if r < ' ' || r == utf8.RuneError {
			return false
		}
	}
	return true
}

// placeTensors turns offsets into places in the file, the table ending at end, and checks
// that each lies inside the file and none overlaps another. Gaps, any order and bytes after
// the last tensor are odd but harmless.
func (f *File) placeTensors(end int64, all *faults) {
	hole := -uint64(end) & (f.alignment - 1)
	if hole > uint64(f.size-end) {
		// The data would begin behind the end: right only for a file that has none.
		f.data = f.size
		if len(f.tensors) > 0 {
			all.add(f.fault("tensor data", end, fmt.Errorf("the file ends at 0x%x, before the data begins: the download may be incomplete", f.size)))
		}
		return
	}
	f.data = end + int64(hole)
	for i := range f.tensors {
		t := &f.tensors[i]
		if err := f.checkPlace(t); err != nil {
			all.add(f.TensorError(t.Name, "%w", err))
		}
		t.Offset += f.data
	}
	if len(all.errs) == 0 {
		f.checkOverlap(all)
	}
}

// checkPlace checks a tensor's offset, which is still relative to the data.
func (f *File) checkPlace(t *Tensor) error {
	room := f.size - f.data
	switch {
	case uint64(t.Offset)%f.alignment != 0:
		return fmt.Errorf("its offset %d is no multiple of the alignment %d: %s", t.Offset, f.alignment, damaged)
	case t.Offset > room || t.Size > room-t.Offset:
		return fmt.Errorf("its %d bytes at offset %d go beyond the %d bytes of data in the file: the download may be incomplete", t.Size, t.Offset, room)
	}
	return nil
}

// checkOverlap compares each tensor with its predecessor in the file.
func (f *File) checkOverlap(all *faults) {
	order := make([]*Tensor, len(f.tensors))
	for i := range order {
		order[i] = &f.tensors[i]
	}
	slices.SortStableFunc(order, func(a, b *Tensor) int { return cmp.Compare(a.Offset, b.Offset) })
	for i, t := range order {
		if i == 0 {
			continue
		}
		if p := order[i-1]; p.Offset+p.Size > t.Offset {
			all.add(f.TensorError(t.Name, "its data at 0x%x overlaps that of %q, which ends at 0x%x: %s", t.Offset, p.Name, p.Offset+p.Size, damaged))
		}
	}
}
