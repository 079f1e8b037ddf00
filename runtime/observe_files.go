package runtime

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// observedFiles writes a folder for each step: the inputs and the observed values as .npy files, and index.tsv, which
// is written last. Each line of that has three columns: func, size, input or value; a name in Go's quotes; for a size
// the number, for a function nothing, else the file.
type observedFiles struct {
	dir string

	begun bool   // the first step has begun
	step  string // the folder of this step
	index strings.Builder
	files map[string]string // of the observed values, by name
}

func (o *observedFiles) begin(s *Session, f *Func, step int) error {
	if !o.begun {
		if err := o.forgetIndexes(); err != nil {
			return err
		}
		o.begun = true
	}
	o.step = filepath.Join(o.dir, fmt.Sprintf("%06d", step))
	if err := os.MkdirAll(o.step, 0o777); err != nil {
		return err
	}
	o.index.Reset()
	o.line("func", f.Name, "")
	for i, sym := range s.model.program.Symbols {
		o.line("size", sym.Name, fmt.Sprint(s.args.Dims[i]))
	}
	files := o.fileNames(f)
	for i := range f.Inputs {
		t := &f.Inputs[i]
		if err := o.write("input", t.Name, files[i], s.view(t)); err != nil {
			return err
		}
	}
	return nil
}

// forgetIndexes removes the indexes that another run has written to the folder. Otherwise one would stay in the folder
// of a step that this run does not finish, or does not come to.
func (o *observedFiles) forgetIndexes() error {
	steps, err := os.ReadDir(o.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, d := range steps {
		if _, notNumber := strconv.ParseUint(d.Name(), 10, 63); notNumber != nil || !d.IsDir() {
			continue
		}
		if e := os.Remove(filepath.Join(o.dir, d.Name(), "index.tsv")); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

func (o *observedFiles) value(node string, _ int, t Array) error {
	return o.write("value", node, o.files[node], t)
}

// fileNames returns the files of a function's inputs, and sets those of its observed values.
func (o *observedFiles) fileNames(f *Func) []string {
	all := slices.Clone(f.Inputs)
	for i := range f.Observed {
		for _, name := range f.Observed[i].Names {
			all = append(all, Tensor{Name: name})
		}
	}
	names := fileNames(all)
	o.files = make(map[string]string)
	for i := len(f.Inputs); i < len(all); i++ {
		o.files[all[i].Name] = names[i]
	}
	return names
}

func (o *observedFiles) end() error {
	return writeWhole(filepath.Join(o.step, "index.tsv"), func(w io.Writer) error {
		_, err := io.WriteString(w, o.index.String())
		return err
	})
}

func (o *observedFiles) write(kind, name, file string, t Array) error {
	o.line(kind, name, file)
	return writeWhole(filepath.Join(o.step, file), func(w io.Writer) error { return WriteNPY(w, t) })
}

func (o *observedFiles) line(kind, name, what string) {
	fmt.Fprintf(&o.index, "%s\t%q\t%s\n", kind, name, what)
}
