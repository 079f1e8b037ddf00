package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// call runs one function on .npy files.
func (c *cli) call() func(context.Context) error {
	dir := ""
	c.flags.text(&dir, "o", "DIR", "folder for the outputs, a NAME.npy each; created if necessary")
	c.modelFlags()
	return func(ctx context.Context) error {
		f, files, err := c.callArguments(dir)
		if err != nil {
			return err
		}
		arrays, err := readArrays(f, files)
		if err != nil {
			return err
		}
		s, closeModel, err := c.open()
		if err != nil {
			return err
		}
		f = &c.program.Funcs[c.program.Func(f.Name)] // of the program that runs
		return errors.Join(c.callOn(ctx, s, f, arrays, dir), closeModel())
	}
}

// callArguments returns the function and the file of each of its inputs.
func (c *cli) callArguments(dir string) (*Func, []string, error) {
	if len(c.rest) == 0 {
		return nil, nil, usagef("call which function? There are:\n%s", c.signatures())
	}
	i := c.program.Func(c.rest[0])
	if i < 0 {
		return nil, nil, usagef("no function %q: there are:\n%s", c.rest[0], c.signatures())
	}
	switch dir {
	case "":
		return nil, nil, usagef("-o DIR is missing: name the folder for the outputs")
	case "-":
		return nil, nil, usagef("-o -: the outputs are files of their own: name a folder, or write ./- for a folder with this name")
	}
	f := &c.program.Funcs[i]
	files, err := inputFiles(f, c.rest[1:])
	return f, files, err
}

// inputFiles sorts name=file arguments into the order of the inputs.
func inputFiles(f *Func, args []string) ([]string, error) {
	files := make([]string, len(f.Inputs))
	var errs []error
	for _, arg := range args {
		name, file, ok := cutInput(f, arg)
		at := f.Input(name)
		switch {
		case !ok || file == "":
			errs = append(errs, usagef("%q: inputs are given as name=file.npy", arg))
		case at == nil:
			errs = append(errs, usagef("%s has no input %q: it takes %s", f.Name, name, signature(f.Inputs)))
		default:
			i := slices.IndexFunc(f.Inputs, func(t Tensor) bool { return t.Name == name })
			if files[i] != "" {
				errs = append(errs, usagef("input %s of %s is given twice: as %s and as %s", name, f.Name, files[i], file))
			}
			files[i] = file
		}
	}
	for i, file := range files {
		if file == "" {
			errs = append(errs, usagef("input %s of %s is missing: give %s=file.npy", f.Inputs[i].Name, f.Name, f.Inputs[i].Name))
		}
	}
	return files, errors.Join(errs...)
}

// cutInput splits name=file. An input's name may contain an = itself. If the names of several inputs match, the
// longest is chosen.
func cutInput(f *Func, arg string) (name, file string, ok bool) {
	name, file, ok = strings.Cut(arg, "=")
	for i := range f.Inputs {
		long := f.Inputs[i].Name
		if rest, is := strings.CutPrefix(arg, long+"="); is && len(long) > len(name) {
			name, file = long, rest
		}
	}
	return name, file, ok
}

// readArrays reads the inputs and checks their types.
func readArrays(f *Func, files []string) ([]Array, error) {
	arrays := make([]Array, len(files))
	var errs []error
	for i, file := range files {
		a, err := readArray(file, f.Inputs[i].Type)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: input %s: %w", file, f.Inputs[i].Name, err))
		}
		arrays[i] = a
	}
	return arrays, errors.Join(errs...)
}

// arrayLimit is the most elements of an input file. No arena is that large.
const arrayLimit = 1 << 40

func readArray(file string, want dtype.DType) (Array, error) {
	r, err := os.Open(file)
	if err != nil {
		return Array{}, errors.Unwrap(err)
	}
	defer r.Close()
	a, err := ReadNPY(r, arrayLimit)
	if err != nil {
		return Array{}, err
	}
	if a.Type == dtype.I64 && want == dtype.I32 {
		a, err = narrowI64(a)
	}
	if err == nil && a.Type != want {
		err = fmt.Errorf("it holds %v, %v is wanted: convert it with .astype", a.Type, want)
	}
	return a, err
}

// callOn runs the function and writes its outputs.
func (c *cli) callOn(ctx context.Context, s *Session, f *Func, arrays []Array, dir string) error {
	if err := s.sizeByShapes(f, arrays); err != nil {
		return err
	}
	data := make([][]byte, len(arrays))
	for i, a := range arrays {
		data[i] = a.Data
	}
	if err := s.enterArrays(ctx, c.program.Func(f.Name), data); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for i, file := range fileNames(f.Outputs) {
		t := &f.Outputs[i]
		path := filepath.Join(dir, file)
		if file != t.Name+".npy" {
			c.note("output", "output %q is in %s, as its name is not one for a file, or that of two", t.Name, path)
		}
		if err := s.writeOutput(t, path); err != nil {
			return err
		}
	}
	return nil
}

func (s *Session) writeOutput(t *Tensor, path string) error {
	a := Array{Type: t.Type, Data: make([]byte, t.Type.Bytes(t.elems(&s.args.Dims)))}
	for _, d := range t.Dims {
		a.Shape = append(a.Shape, d.eval(&s.args.Dims))
	}
	s.load(t, a.Data)
	return writeWhole(path, func(w io.Writer) error { return WriteNPY(w, a) })
}

// replaceable returns the permissions of a file that is written to path. The error reports that something other than a
// file is there.
func replaceable(path string) (fs.FileMode, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return 0o666, nil // less what the umask takes away
	case info.IsDir():
		return 0, fmt.Errorf("%s: this is a folder: name a file, such as one in it", path)
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%s: not a regular file: renaming over it would destroy it: choose another path", path)
	}
	return info.Mode().Perm(), nil
}

// writeWhole writes a file that appears under its name only once it is complete. It keeps the permissions of a file
// that it replaces.
func writeWhole(path string, write func(io.Writer) error) error {
	mode, err := replaceable(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(filepath.Dir(path), fmt.Sprintf(".ggmlc-%d", rand.Uint64())), os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return fmt.Errorf("%s: cannot be written: %w", path, err)
	}
	err = errors.Join(write(f), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// sizeByShapes sets the symbols that the inputs' shapes determine and checks all shapes.
func (s *Session) sizeByShapes(f *Func, arrays []Array) error {
	for i, a := range arrays {
		t := &f.Inputs[i]
		if len(a.Shape) != len(t.Dims) {
			return s.shapeError(t, a)
		}
		for j, d := range t.Dims {
			n, ok := d.invert(a.Shape[j])
			if !ok {
				continue
			}
			if err := s.SetDim(d.Sym, n); err != nil {
				return fmt.Errorf("%s: %w", t.Name, err)
			}
		}
	}
	for i, a := range arrays {
		for j, d := range f.Inputs[i].Dims {
			if a.Shape[j] != d.eval(&s.args.Dims) {
				return s.shapeError(&f.Inputs[i], a)
			}
		}
	}
	return nil
}

func (s *Session) shapeError(t *Tensor, a Array) error {
	return inputError("%s has the shape %s, %s is wanted (%s)", t.Name, tuple(a.Shape), s.model.program.shape(t), s.sizes())
}

// signatures lists the functions with their inputs and outputs.
func (c *cli) signatures() string {
	var b strings.Builder
	for i := range c.program.Funcs {
		f := &c.program.Funcs[i]
		fmt.Fprintf(&b, "  %s\n    in  %s\n    out %s\n", printable.Line(f.Name), c.program.signature(f.Inputs), c.program.signature(f.Outputs))
	}
	return b.String()
}

func signature(ts []Tensor) string {
	names := make([]string, len(ts))
	for i := range ts {
		names[i] = printable.Line(ts[i].Name)
	}
	return strings.Join(names, ", ")
}

func (p *Program) signature(ts []Tensor) string {
	all := make([]string, len(ts))
	for i := range ts {
		all[i] = printable.Line(ts[i].Name) + ": " + ts[i].Type.String() + " " + p.shape(&ts[i])
	}
	return strings.Join(all, "; ")
}

// shape prints the dimensions with the names of their symbols.
func (p *Program) shape(t *Tensor) string {
	dims := make([]string, len(t.Dims))
	for i, d := range t.Dims {
		dims[i] = p.dim(d)
	}
	return "[" + strings.Join(dims, ", ") + "]"
}

func (p *Program) dim(d Dim) string {
	if d.Scale == 0 {
		return strconv.Itoa(d.Const)
	}
	s := p.Symbols[d.Sym].Name
	if d.Scale != 1 {
		s = strconv.Itoa(d.Scale) + "*" + s
	}
	if d.Const != 0 {
		s += fmt.Sprintf("%+d", d.Const)
	}
	return s
}
