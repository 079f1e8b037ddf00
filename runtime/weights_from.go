package runtime

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unsafe"
)

// givenWeights returns the weights that the options give in another form than a file's name; ok is false if they give
// none.
func (o *Options) givenWeights(p *Program) (w weights, ok bool, err error) {
	given := 0
	for _, is := range []bool{o.WeightsBytes != nil, o.WeightsReader != nil, o.WeightsFS != nil, o.WeightsFS == nil && o.Weights != ""} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return weights{}, true, inputError("Options: more than one of Weights, WeightsBytes, WeightsReader and WeightsFS are set: only WeightsFS goes with Weights, which is then a name in it")
	case o.WeightsFS != nil && o.Weights == "":
		return weights{}, true, inputError("Options.WeightsFS: set Options.Weights to the name of the file there")
	case p.Weights.Size == 0:
		return weights{}, false, nil
	case o.WeightsBytes != nil:
		w, err = heldWeights(p, "", o.WeightsBytes)
	case o.WeightsReader != nil:
		w, err = readWeights(p, "", o.WeightsReader, o.WeightsSize)
	case o.WeightsFS != nil:
		w, err = openWeightsIn(p, o.WeightsFS, o.Weights)
	default:
		return weights{}, false, nil
	}
	return w, true, err
}

// heldWeights returns weights in memory, in the form of a file. They are used in place if their alignment allows it.
func heldWeights(p *Program, name string, file []byte) (weights, error) {
	t, err := checkedTrailer(p, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return weights{}, &WeightsError{File: name, Why: err.Error()}
	}
	b := file[t.Offset : t.Offset+t.Length : t.Offset+t.Length]
	if uintptr(unsafe.Pointer(unsafe.SliceData(b)))%p.alignment() == 0 {
		return weights{bytes: b, file: name}, nil
	}
	own, err := allocateArena(t.Length, "weights")
	if err != nil {
		return weights{}, err
	}
	copy(own.bytes, b)
	return weights{bytes: own.bytes, file: name}, nil
}

// alignment returns the alignment in bytes of memory that the program uses in place. Devices import whole pages.
func (p *Program) alignment() uintptr {
	if p.Devices != nil {
		return uintptr(os.Getpagesize())
	}
	return Align
}

// readPiece is how many bytes of weights are read at once.
const readPiece = 16 << 20

// readWeights reads the weights that the trailer of a reader of the given size describes. 0 means that the reader knows
// its size.
func readWeights(p *Program, name string, r io.ReaderAt, size int64) (weights, error) {
	if size == 0 {
		s, ok := r.(interface{ Size() int64 })
		if !ok {
			return weights{}, inputError("Options.WeightsSize is 0: a %T does not tell its size", r)
		}
		size = s.Size()
	}
	t, err := checkedTrailer(p, r, size)
	if err != nil {
		return weights{}, &WeightsError{File: name, Why: err.Error()}
	}
	own, err := allocateArena(t.Length, "weights")
	if err != nil {
		return weights{}, err
	}
	for at := int64(0); at < t.Length; at += readPiece {
		piece := own.bytes[at:min(at+readPiece, t.Length)]
		if n, err := r.ReadAt(piece, t.Offset+at); n < len(piece) {
			return weights{}, &WeightsError{File: name, Why: fmt.Sprintf("byte %d cannot be read: give all %d bytes of the file", t.Offset+at+int64(n), size), Err: err}
		}
	}
	return weights{bytes: own.bytes, file: name}, nil
}

// openWeightsIn finds weights in a file system. A file of the system is mapped; another one is read.
func openWeightsIn(p *Program, fsys fs.FS, name string) (weights, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return weights{}, &WeightsError{File: name, Why: "the weights cannot be read: set Options.Weights to their name in Options.WeightsFS", Err: unwrapped(err)}
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return weights{}, &WeightsError{File: name, Why: "the weights cannot be read", Err: unwrapped(err)}
	}
	if !st.Mode().IsRegular() {
		return weights{}, &WeightsError{File: name, Why: "it is no regular file"}
	}
	switch f := f.(type) {
	case *os.File:
		return mapOpened(p, name, f)
	case io.ReaderAt:
		return readWeights(p, name, f, max(st.Size(), 1))
	}
	whole, err := allocateArena(st.Size(), "weights")
	if err != nil {
		return weights{}, err
	}
	if n, err := io.ReadFull(f, whole.bytes); err != nil {
		return weights{}, &WeightsError{File: name, Why: fmt.Sprintf("it has %d bytes of %d", n, st.Size()), Err: err}
	}
	return heldWeights(p, name, whole.bytes)
}

// unwrapped returns the system's part of an error, without the path, which errors of weights name.
func unwrapped(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}
