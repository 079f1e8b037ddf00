package gguf

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
)

// A model may be published in several files, its parts, as llama.cpp's gguf-split writes them: each has a number and how
// many there are, the first also all other keys. Tensors are in any of them. Names of parts end alike, from
// "-00001-of-00003.gguf" on (llama_split_path, llama.cpp).
const (
	partKey        = "split.no"            // from 0 on
	partsKey       = "split.count"         // without it, or if it is 0 or 1, the file is a whole model
	partTensorsKey = "split.tensors.count" // of all parts
	archKey        = "general.architecture"

	maxParts = 1<<16 - 1 // split.count has 16 bits
)

// partSuffix is the end of the name of part i, from 0 on, of n.
func partSuffix(i, n uint64) string { return fmt.Sprintf("-%05d-of-%05d.gguf", i+1, n) }

// OtherParts returns where the other parts of a model are whose first part has that path; by its name alone, and none if
// that is no name of a first part.
func OtherParts(path string) []string {
	at := strings.LastIndex(path, "-of-")
	if at < 0 {
		return nil
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(path[at+len("-of-"):], ".gguf"), 10, 16)
	if err != nil {
		return nil
	}
	stem, ok := strings.CutSuffix(path, partSuffix(0, n))
	if !ok {
		return nil
	}
	var paths []string
	for i := uint64(1); i < n; i++ {
		paths = append(paths, stem+partSuffix(i, n))
	}
	return paths
}

// openParts opens the other parts, if the file is the first of several.
func (f *File) openParts() error {
	if !f.Has(partsKey) {
		return f.checkUncounted()
	}
	n, err := f.Uint(partsKey)
	if err == nil && n <= 1 {
		err = f.checkTensorCount(f) // a whole model, by this key: the other one must agree
	}
	if err != nil || n <= 1 {
		return err
	}
	i, err := f.Uint(partKey)
	switch {
	case err != nil:
		return err
	case n > maxParts:
		return f.KeyError(partsKey, "is %d, and at most %d are allowed: %s", n, maxParts, damaged)
	case i >= n:
		return f.KeyError(partKey, "is %d, but there are %d parts, counted from 0: %s", i, n, damaged)
	case i > 0:
		return f.KeyError(partKey, "this is part %d of %d of a model: give the first, whose name ends with %s", i+1, n, partSuffix(0, n))
	case !strings.HasSuffix(f.name, partSuffix(0, n)):
		return f.KeyError(partsKey, "this is the first of %d parts, whose names have to end with %s to %s: name the files as they were published", n, partSuffix(0, n), partSuffix(n-1, n))
	}
	var all Faults
	for j, path := range OtherParts(f.name) {
		all.Add(f.openPart(path, uint64(j+1), n))
	}
	if all.Any() {
		return all.Err(f.FileError)
	}
	return f.checkParts()
}

// checkUncounted refuses a file without split.count that has the name of a first part: it could be a model without the
// tensors of its other parts.
func (f *File) checkUncounted() error {
	n := len(OtherParts(f.name)) + 1
	if n == 1 {
		return nil
	}
	return f.FileError(fmt.Sprintf("the name is that of part 1 of %d of a model, but the file has no key %s, and so the tensors of the other parts would be missing: "+
		"get the file again, or split the model again (llama-gguf-split); if this is the whole model, give the file another name", n, partsKey))
}

// openPart opens part i of n.
func (f *File) openPart(path string, i, n uint64) error {
	p, err := OpenPart(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Error{File: path, Err: fmt.Errorf("%w: it is part %d of the %d parts of the model: all have to be in one folder", fs.ErrNotExist, i+1, n)}
	}
	if err != nil {
		return err
	}
	f.others = append(f.others, p)
	for _, want := range []struct {
		key   string
		value uint64
	}{{partKey, i}, {partsKey, n}} {
		if !p.Has(want.key) {
			return p.KeyError(want.key, "is missing: the name is that of part %d of %d, the content is not: get this part again", i+1, n)
		}
		got, err := p.Uint(want.key)
		if err != nil {
			return err
		}
		if got != want.value {
			return p.KeyError(want.key, "is %d, where part %d of %d has %d: the file has another's name, or is of another model", got, i+1, n, want.value)
		}
	}
	return nil
}

// checkParts checks that the parts are of one model.
func (f *File) checkParts() error {
	var all Faults
	seen := map[string]*File{}
	for t := range f.Tensors() {
		p := f
		if t.part != nil {
			p = t.part
		}
		if first := seen[t.Name]; first != nil {
			all.Add(p.TensorError(t.Name, "%s has a tensor of this name, too: they are parts of different models, or damaged", first.name))
		}
		seen[t.Name] = p
	}
	for _, p := range f.others {
		all.Add(f.checkArchitecture(p))
	}
	if !all.Any() {
		all.Add(f.checkTensorCount(f))
		for _, p := range f.others {
			all.Add(f.checkTensorCount(p))
		}
	}
	return all.Err(f.FileError)
}

// checkTensorCount checks that a part which states how many tensors all parts have has that right.
func (f *File) checkTensorCount(p *File) error {
	if !p.Has(partTensorsKey) {
		return nil
	}
	n, err := p.Uint(partTensorsKey)
	if err == nil && n != uint64(f.NumTensors()) {
		if len(f.others) == 0 {
			return p.KeyError(partTensorsKey, "is %d, but the file has %d tensors, and %s says that it is the whole model: tensors are missing or were added: get the model again",
				n, f.NumTensors(), partsKey)
		}
		err = p.KeyError(partTensorsKey, "is %d, but the parts have %d tensors: they are of different models, or damaged", n, f.NumTensors())
	}
	return err
}

// checkArchitecture checks that a part which names an architecture names that of the first.
func (f *File) checkArchitecture(p *File) error {
	if !p.Has(archKey) || !f.Has(archKey) {
		return nil
	}
	want, err := f.String(archKey)
	if err != nil {
		return err
	}
	got, err := p.String(archKey)
	if err == nil && got != want {
		err = p.KeyError(archKey, "is %s, and that of the first part is %s: they are parts of different models", Quote(got), Quote(want))
	}
	return err
}

// joined is files one after the other.
type joined []*File

// ReadAt implements io.ReaderAt.
func (j joined) ReadAt(b []byte, off int64) (n int, err error) {
	for _, f := range j {
		if off >= f.size {
			off -= f.size
			continue
		}
		m, err := readFull(f.r, b[n:n+int(min(int64(len(b)-n), f.size-off))], off)
		if n += m; err != nil || n == len(b) {
			return n, err
		}
		off = 0
	}
	return n, io.EOF
}
