package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"reflect"
	"slices"
)

// Writer makes a GGUF file of version 3. Keys and tensors are written in the order in which they are added. WriteTo
// reports all mistakes, so that callers read as a list of contents.
type Writer struct {
	alignment uint64
	keys      []byte
	keyNames  map[string]bool
	tensors   []outTensor
	names     map[string]bool
	end       uint64 // offset after the last tensor
	errs      []error
}

// outTensor is a tensor to be written.
type outTensor struct {
	Tensor // Offset relative to the data
	data   func(io.Writer) error
}

// NewWriter returns a Writer with neither keys nor tensors.
func NewWriter() *Writer {
	return &Writer{alignment: defaultAlignment, keyNames: map[string]bool{}, names: map[string]bool{}}
}

// Set adds a key. The value is an integer or float of a sized type, a bool, a string, or a slice of one of these.
// general.alignment (uint32) must be set before the first tensor.
func (w *Writer) Set(name string, value any) {
	v := reflect.ValueOf(value)
	if err := w.set(name, v); err != nil {
		w.errs = append(w.errs, fmt.Errorf("key %q: %w", name, err))
		return
	}
	if name == alignmentKey {
		w.setAlignment(v)
	}
}

// set appends a key.
func (w *Writer) set(name string, v reflect.Value) error {
	if err := checkText("name", name); err != nil {
		return err
	}
	if len(name) > maxKeyBytes {
		return fmt.Errorf("the name is longer than %d bytes", maxKeyBytes)
	}
	if w.keyNames[name] {
		return errors.New("set a second time")
	}
	w.keyNames[name] = true
	b := le.AppendUint32(appendString(w.keys, name), uint32(Array))
	if v.Kind() == reflect.Slice {
		b = le.AppendUint64(le.AppendUint32(b, uint32(valueTypeOf(v.Type().Elem()))), uint64(v.Len()))
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
		w.keys = b
		return checkKind(v.Type().Elem())
	}
	if err := checkKind(v.Type()); err != nil {
		return err
	}
	le.PutUint32(b[len(b)-4:], uint32(valueTypeOf(v.Type())))
	w.keys = appendValue(b, v)
	return nil
}

// valueTypeOf returns the value type that stores a Go type, or numValueTypes if there is none.
func valueTypeOf(t reflect.Type) ValueType {
	switch t.Kind() {
	case reflect.Uint8:
		return Uint8
	case reflect.Int8:
		return Int8
	case reflect.Uint16:
		return Uint16
	case reflect.Int16:
		return Int16
	case reflect.Uint32:
		return Uint32
	case reflect.Int32:
		return Int32
	case reflect.Uint64:
		return Uint64
	case reflect.Int64:
		return Int64
	case reflect.Float32:
		return Float32
	case reflect.Float64:
		return Float64
	case reflect.Bool:
		return Bool
	case reflect.String:
		return String
	}
	return numValueTypes
}

// checkKind refuses Go types that no value type stores.
func checkKind(t reflect.Type) error {
	if valueTypeOf(t) == numValueTypes {
		return fmt.Errorf("a Go %v cannot be stored: use a type of a stated size", t)
	}
	return nil
}

// appendValue appends a scalar or string.
func appendValue(b []byte, v reflect.Value) []byte {
	if v.Kind() == reflect.String {
		return appendString(b, v.String())
	}
	b, _ = binary.Append(b, le, v.Interface()) // fails only for kinds that checkKind refuses
	return b
}

// appendString appends length and bytes.
func appendString(b []byte, s string) []byte {
	return append(le.AppendUint64(b, uint64(len(s))), s...)
}

// setAlignment sets the alignment to the value of general.alignment.
func (w *Writer) setAlignment(v reflect.Value) {
	switch {
	case v.Kind() != reflect.Uint32 || bits.OnesCount64(v.Uint()) != 1:
		w.errs = append(w.errs, fmt.Errorf("key %q: %v is not a uint32 that is a power of two", alignmentKey, v))
	case len(w.tensors) > 0:
		w.errs = append(w.errs, fmt.Errorf("key %q: set after the first tensor", alignmentKey))
	default:
		w.alignment = v.Uint()
	}
}

// Tensor adds a tensor with the given shape, outermost dimension first. WriteTo calls data once, which has to write
// exactly the tensor's bytes.
func (w *Writer) Tensor(name string, typ TensorType, shape []int, data func(io.Writer) error) {
	t := outTensor{Tensor{Name: name, Type: typ, Offset: int64(w.end)}, data}
	if err := w.check(&t.Tensor, shape); err != nil {
		w.errs = append(w.errs, fmt.Errorf("tensor %q: %w", name, err))
		return
	}
	w.names[name] = true
	w.tensors = append(w.tensors, t)
	w.end = roundUp(w.end+uint64(t.Size), w.alignment)
}

// check applies the reader's rules and sets the tensor's shape and size.
func (w *Writer) check(t *Tensor, shape []int) error {
	if err := checkText("name", t.Name); err != nil {
		return err
	}
	switch {
	case len(t.Name) > maxTensorName:
		return fmt.Errorf("the name is longer than %d bytes", maxTensorName)
	case w.names[t.Name]:
		return errors.New("added a second time")
	case len(shape) == 0 || len(shape) > maxDims:
		return fmt.Errorf("%d dimensions, where 1 to %d are allowed", len(shape), maxDims)
	}
	dims := make([]uint64, 0, maxDims)
	for _, d := range slices.Backward(shape) {
		dims = append(dims, uint64(d))
	}
	return t.setShape(dims)
}

// WriteTo writes the file, or returns all mistakes made so far and writes nothing.
func (w *Writer) WriteTo(out io.Writer) (int64, error) {
	if len(w.errs) > 0 {
		return 0, errors.Join(w.errs...)
	}
	c := &counter{w: out}
	if _, err := c.Write(w.head()); err != nil {
		return c.n, err
	}
	base := c.n
	for i := range w.tensors {
		if err := w.writeTensor(c, &w.tensors[i], base); err != nil {
			return c.n, fmt.Errorf("tensor %q: %w", w.tensors[i].Name, err)
		}
	}
	return c.n, nil
}

// head encodes everything before the data.
func (w *Writer) head() []byte {
	b := le.AppendUint32([]byte(magic), 3)
	b = le.AppendUint64(b, uint64(len(w.tensors)))
	b = le.AppendUint64(b, uint64(len(w.keyNames)))
	b = append(b, w.keys...)
	for i := range w.tensors {
		b = w.tensors[i].appendEntry(b)
	}
	return append(b, make([]byte, roundUp(uint64(len(b)), w.alignment)-uint64(len(b)))...)
}

// appendEntry encodes an entry of the tensor table.
func (t *outTensor) appendEntry(b []byte) []byte {
	b = le.AppendUint32(appendString(b, t.Name), uint32(len(t.Shape)))
	for _, d := range slices.Backward(t.Shape) {
		b = le.AppendUint64(b, uint64(d))
	}
	return le.AppendUint64(le.AppendUint32(b, uint32(t.Type)), uint64(t.Offset))
}

// writeTensor writes a tensor's bytes and the padding after them.
func (w *Writer) writeTensor(c *counter, t *outTensor, base int64) error {
	start := c.n
	if err := t.data(c); err != nil {
		return err
	}
	if got := c.n - start; got != t.Size {
		return fmt.Errorf("%d bytes were written, not %d", got, t.Size)
	}
	end := uint64(c.n - base)
	_, err := c.Write(make([]byte, roundUp(end, w.alignment)-end))
	return err
}

// roundUp rounds n up to a multiple of a, a power of two.
func roundUp(n, a uint64) uint64 { return (n + a - 1) &^ (a - 1) }

// counter counts the bytes written through it.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// WriteFile writes a temporary file in the same folder and renames it, so that path contains either the whole file or
// its previous contents.
func (w *Writer) WriteFile(path string) (err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file: renaming over it would destroy it: choose another name", path)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()
	buf := bufio.NewWriterSize(tmp, 1<<20)
	if _, err := w.WriteTo(buf); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := errors.Join(buf.Flush(), tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
