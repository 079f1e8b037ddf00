package runtime

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// observedFiles writes a folder for each step: the inputs and the observed values as .npy files, and index.tsv, which
// is written last. Each line of that has three columns: func, size, input or value; a name in Go's quotes; for a size
// the number, for a function nothing, else the file.
type observedFiles struct {
	dir string

	step  string // the folder of this step
	index strings.Builder
	files []string // of the observed values
	next  int
}

func (o *observedFiles) begin(s *Session, f *Func, step int) error {
	o.step = filepath.Join(o.dir, fmt.Sprintf("%06d", step))
	if err := os.MkdirAll(o.step, 0o777); err != nil {
		return err
	}
	o.index.Reset()
	o.line("func", f.Name, "")
	for i, sym := range s.model.program.Symbols {
		o.line("size", sym.Name, fmt.Sprint(s.args.Dims[i]))
	}
	names := fileNames(slices.Concat(f.Inputs, f.Observed))
	o.files, o.next = names[len(f.Inputs):], 0
	for i := range f.Inputs {
		t := &f.Inputs[i]
		if err := o.write("input", t.Name, names[i], s.view(t)); err != nil {
			return err
		}
	}
	return nil
}

func (o *observedFiles) value(node string, _ int, t Array) error {
	file := o.files[o.next]
	o.next++
	return o.write("value", node, file, t)
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
