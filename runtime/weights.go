package runtime

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"strings"
	"unsafe"
)

// weights holds the bytes that emitted code reads, from any source. They are never written; a mapping is read-only.
type weights struct {
	bytes  []byte
	file   string // "" if they are part of the program's own data
	mapped bool   // file is mapped: its pages may vanish while the program runs
}

// verifiedBytes is the largest size of weights that Open hashes without Options.Verify. Embedded weights are never
// larger (codegen/driver.embedLimit).
const verifiedBytes = 64 << 20

// openWeights finds, checks and maps the weights of p. It compares their hash if they are small or the options ask
// for it.
func openWeights(p *Program, o Options) (weights, error) {
	w, given, err := o.givenWeights(p)
	if !given && len(p.Weights.Embedded) > 0 && o.Weights == "" {
		return copyWeights(p)
	}
	if !given {
		w, err = findWeights(p, o.Weights)
	}
	if err != nil || p.Weights.Size > verifiedBytes && !o.Verify {
		return w, err
	}
	if err := w.verify(p.Weights.SHA256); err != nil {
		_ = w.close() // the first error is more specific
		return weights{}, err
	}
	return w, nil
}

// copyWeights copies embedded weights to aligned memory and compares their hash.
func copyWeights(p *Program) (weights, error) {
	if n := int64(len(p.Weights.Embedded)); n != p.Weights.Size {
		return weights{}, &WeightsError{Why: fmt.Sprintf("%d bytes are embedded, not %d: the file that the package embeds was cut or replaced: generate the package again", n, p.Weights.Size)}
	}
	const piece = 64 << 10 // bytes that are still in a cache when they are hashed
	w := weights{bytes: newArena(p.Weights.Size).bytes}
	h := sha256.New()
	for at := 0; at < len(w.bytes); at += piece {
		part := w.bytes[at:min(at+piece, len(w.bytes))]
		copy(part, p.Weights.Embedded[at:])
		h.Write(part)
	}
	if err := compareHash(h.Sum(nil), p.Weights.SHA256); err != nil {
		exe, _ := executable() // on failure the error names "weights" instead
		return weights{}, &WeightsError{File: exe, Why: err.Error()}
	}
	return w, nil
}

// findWeights maps weights that are not embedded. file is Options.Weights.
func findWeights(p *Program, file string) (weights, error) {
	info := &p.Weights
	switch {
	case info.Size == 0:
		return weights{}, nil
	case file != "":
		return mapWeights(p, file)
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
	return mapOpened(p, file, f)
}

// mapOpened maps the weights that the trailer of an open file describes.
func mapOpened(p *Program, file string, f *os.File) (weights, error) {
	t, err := fileTrailer(p, f)
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

// fileTrailer is checkedTrailer for a regular file.
func fileTrailer(p *Program, f *os.File) (Trailer, error) {
	st, err := f.Stat()
	if err != nil {
		return Trailer{}, err
	}
	if !st.Mode().IsRegular() {
		return Trailer{}, errNotRegular
	}
	return checkedTrailer(p, f, st.Size())
}

// errNoTrailer is the error for weights alone, such as the file that a package embeds: nothing states which plan they
// are for.
var errNoTrailer = errors.New("these are weights without the trailer that names their plan, as a package embeds them: " +
	"leave them out if the program embeds them, or give a file that --weights wrote")

// checkedTrailer reads the trailer of r and compares it with what p was compiled with.
func checkedTrailer(p *Program, r io.ReaderAt, size int64) (Trailer, error) {
	t, err := ReadTrailer(r, size)
	if err != nil && size == p.Weights.Size {
		return Trailer{}, errNoTrailer
	}
	if err != nil {
		return Trailer{}, err
	}
	if t.PlanID != p.PlanID && t.Before > 0 {
		if t, err = ReadTrailer(r, t.Before); err != nil {
			return Trailer{}, err
		}
	}
	return t, t.matches(p)
}

// base returns the address from which emitted code reads.
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

// verify computes the hash of the weights and compares it with the one compiled in. A page that cannot be read is an
// error too.
func (w *weights) verify(want string) error {
	if len(w.bytes) == 0 {
		return nil
	}
	return w.readable(func() error {
		sum := sha256.Sum256(w.bytes)
		if err := compareHash(sum[:], want); err != nil {
			return &WeightsError{File: w.file, Why: err.Error()}
		}
		return nil
	})
}

// compareHash compares a SHA-256 with one in hex.
func compareHash(sum []byte, want string) error {
	if got := hex.EncodeToString(sum); got != want {
		return fmt.Errorf("the weights have the SHA-256 %s, this program was compiled with %s: restore the file or build again", got, want)
	}
	return nil
}

// readable calls a function that reads the weights, and returns an error if a page is gone.
func (w *weights) readable(read func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if v := recover(); v != nil {
			err = &WeightsError{File: w.file, Why: fmt.Sprintf("a page of the weights cannot be read: %v", v)}
		}
	}()
	return read()
}

// besideExecutable returns name in the folder of the executable if such a file exists, and otherwise name itself,
// relative to the working folder.
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

// executable returns the path of the running program. os.Executable reads /proc, which an empty root does not have;
// argv[0] is then used as a shell would.
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
