package passes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Dumper writes the module after every pass into a folder, as NN-pass.ggir, and an index.tsv with a line for each pass.
type Dumper struct {
	dir   string
	write func(path string, data []byte) error
	lines []string

	// Text prints a module. NewDumper sets Module.String.
	Text func(*ir.Module) string
}

// indexHead is the first line of index.tsv.
const indexHead = "number\tpass\tchanged\tms\tnodes\tsplits\tcopies\tbytes copied\tarena bytes\n"

// NewDumper returns a dumper into a folder. It makes the folder if necessary, and removes the dumps of an earlier run.
// The function write has to write a file so that it has its name only when it is complete.
func NewDumper(dir string, write func(path string, data []byte) error) (*Dumper, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("%s: cannot be made: %w: choose another folder", dir, errors.Unwrap(err))
	}
	old, err := filepath.Glob(filepath.Join(dir, "[0-9][0-9]-*.ggir"))
	for _, path := range old {
		err = errors.Join(err, os.Remove(path))
	}
	return &Dumper{dir: dir, write: write, Text: (*ir.Module).String}, err
}

// Import writes the module of the frontend, as number 00.
func (d *Dumper) Import(m *ir.Module) error {
	return d.After(Step{Pass: "import", Changed: true, Stats: &pass.PassStats{}, Figures: flow.Measure(m)}, m)
}

// After writes the module after a step. It is a value for RunOptions.After.
func (d *Dumper) After(s Step, m *ir.Module) error {
	fig := s.Figures
	d.lines = append(d.lines, fmt.Sprintf("%d\t%s\t%t\t%.2f\t%d\t%d\t%d\t%d\t%d\n", s.Number, s.Pass, s.Changed,
		pass.Milliseconds(s.Stats.Time), fig.Nodes, fig.Splits, fig.Copies, fig.BytesCopied, fig.ArenaBytes))
	name := fmt.Sprintf("%02d-%s.ggir", s.Number, s.Pass)
	return d.write(filepath.Join(d.dir, name), []byte(d.Text(m)))
}

// Close writes index.tsv.
func (d *Dumper) Close() error {
	text := indexHead + strings.Join(d.lines, "")
	return d.write(filepath.Join(d.dir, "index.tsv"), []byte(text))
}
