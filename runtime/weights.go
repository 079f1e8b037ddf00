package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"strings"
	"unsafe"
)

// weights are the bytes that emitted code reads, wherever they come from. They are never
// written: a mapping is read-only.
type weights struct {
	bytes  []byte
	file   string // "" when they are part of the program's own data
	mapped bool   // file is mapped: its pages can go away while we run
}

// openWeights finds, checks and maps the weights of p. file is Options.Weights.
func openWeights(p *Program, file string) (weights, error) {
	info := &p.Weights
	switch {
	case info.Size == 0:
		return weights{}, nil
	case file != "":
		return mapWeights(p, file)
	case len(info.Embedded) > 0:
		a := newArena(info.Size)
		copy(a.bytes, info.Embedded)
		return weights{bytes: a.bytes}, nil
	case info.External != "":
		return mapWeights(p, besideExecutable(info.External))
	}
	exe, err := executable()
	if err != nil {
		return weights{}, &WeightsError{Why: "the program's own file cannot be found: start it by its full path, or name the file with --weights", Err: err}
	}
	return mapWeights(p, exe)
}

// mapWeights maps the weights that the trailer of a file describes.
func mapWeights(p *Program, file string) (weights, error) {
	f, err := openRegular(file)
	if err == errNotRegular {
		return weights{}, &WeightsError{File: file, Why: err.Error()}
	}
	if err != nil {
		return weights{}, &WeightsError{File: file, Why: "the weights cannot be read: name their file with --weights (Options.Weights)", Err: errors.Unwrap(err)}
	}
	defer f.Close()
	t, err := checkedTrailer(p, f)
	if err != nil {
		return weights{}, &WeightsError{File: file, Why: err.Error()}
	}
	b, mapped, err := mapFile(f, t.Offset, t.Length)
	if err != nil {
		return weights{}, &WeightsError{File: file, Why: "its weights cannot be mapped", Err: err}
	}
	return weights{b, file, mapped}, nil
}

var errNotRegular = errors.New("it is no regular file: weights are mapped, which needs one")

// openRegular is os.Open for regular files only: opening a FIFO would wait for a writer.
func openRegular(file string) (*os.File, error) {
	st, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errNotRegular
	}
	return os.Open(file)
}

// checkedTrailer reads the trailer of f and compares it with what p was compiled with.
func checkedTrailer(p *Program, f *os.File) (Trailer, error) {
	st, err := f.Stat()
	if err != nil {
		return Trailer{}, err
	}
	if !st.Mode().IsRegular() {
		return Trailer{}, errNotRegular
	}
	t, err := ReadTrailer(f, st.Size())
	if err != nil {
		return Trailer{}, err
	}
	return t, t.matches(p)
}

// base is where emitted code reads from.
func (w *weights) base() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(w.bytes)) }

// contains reports whether a fault at addr was an access to the mapped file.
func (w *weights) contains(addr uintptr) bool {
	start := uintptr(w.base())
	return w.mapped && addr >= start && addr-start < uintptr(len(w.bytes))
}

func (w *weights) close() error {
	if !w.mapped {
		return nil
	}
	b := w.bytes
	w.bytes, w.mapped = nil, false
	return unmapFile(b)
}

// verify computes the hash of the weights and compares it with the one compiled in. A
// page that cannot be read is an error like any other.
func (w *weights) verify(want string) error {
	return w.readable(func() error {
		sum := sha256.Sum256(w.bytes)
		if got := hex.EncodeToString(sum[:]); got != want {
			return &WeightsError{File: w.file, Why: fmt.Sprintf("the weights have the SHA-256 %s, this program was compiled with %s: restore the file or build again", got, want)}
		}
		return nil
	})
}

// readable calls a function that reads the weights, and returns a page that is gone as an
// error.
func (w *weights) readable(read func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			err = &WeightsError{File: w.file, Why: fmt.Sprintf("a page of the weights cannot be read: %v", v)}
		}
	}()
	return read()
}

// besideExecutable returns name in the folder of the executable if it is there, else as
// it is, relative to the working folder.
func besideExecutable(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	if exe, err := executable(); err == nil {
		at := filepath.Join(filepath.Dir(exe), name)
		if _, err := os.Stat(at); err == nil {
			return at
		}
	}
	return name
}

// executable returns the path of the running program. os.Executable asks /proc, which an
// empty root does not have; then argv[0] must do, by the rules of a shell.
func executable() (string, error) {
	exe, err := os.Executable()
	if err == nil {
		return exe, nil
	}
	if len(os.Args) == 0 || os.Args[0] == "" {
		return "", err
	}
	arg0 := os.Args[0]
	if strings.ContainsRune(arg0, '/') || strings.ContainsRune(arg0, filepath.Separator) {
		return arg0, nil
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		at := filepath.Join(dir, arg0)
		if st, statErr := os.Stat(at); statErr == nil && st.Mode().IsRegular() {
			return at, nil
		}
	}
	return "", fmt.Errorf("%w, and there is no %s in PATH (%s)", err, arg0, goruntime.GOOS)
}
