package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/runtime"
)

// Step is one step of a program, as its --observe-to has written it.
type Step struct {
	Func  string
	Sizes map[string]int64 // of symbols

	dir            string
	inputs, values map[string]string // files by name
}

// ReadSteps reads the folder that a program has written with --observe-to. The arrays are read when they are asked for.
func ReadSteps(dir string) ([]*Step, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var steps []*Step
	for _, e := range entries {
		s, err := readStep(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func readStep(dir string) (*Step, error) {
	path := filepath.Join(dir, "index.tsv")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &Step{dir: dir, Sizes: make(map[string]int64), inputs: make(map[string]string), values: make(map[string]string)}
	for line := range strings.Lines(string(text)) {
		if err := s.line(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, line, err)
		}
	}
	return s, nil
}

func (s *Step) line(text string) error {
	columns := strings.Split(text, "\t")
	if len(columns) != 3 {
		return fmt.Errorf("%d columns, not 3", len(columns))
	}
	name, err := strconv.Unquote(columns[1])
	if err != nil {
		return err
	}
	switch columns[0] {
	case "func":
		s.Func = name
	case "size":
		s.Sizes[name], err = strconv.ParseInt(columns[2], 10, 64)
	case "input":
		s.inputs[name] = columns[2]
	case "value":
		s.values[name] = columns[2]
	}
	return err
}

// values returns the arrays of a step of a program.
func (s *Step) value(name string) (t eval.Tensor, ok bool, err error) {
	file, ok := s.values[name]
	if !ok {
		return t, false, nil
	}
	t, err = s.read(file)
	return t, true, err
}

// maxArray is the most bytes of an array.
const maxArray = 1 << 40

func (s *Step) read(file string) (eval.Tensor, error) {
	path := filepath.Join(s.dir, file)
	f, err := os.Open(path)
	if err != nil {
		return eval.Tensor{}, err
	}
	defer f.Close()
	a, err := runtime.ReadNPY(f, maxArray)
	if err != nil {
		return eval.Tensor{}, fmt.Errorf("%s: %w", path, err)
	}
	data := make([]float64, len(a.Data)/a.Type.BlockBytes())
	if err := dtype.Decode(a.Type, data, a.Data); err != nil {
		return eval.Tensor{}, fmt.Errorf("%s: %w", path, err)
	}
	return eval.Of(data, a.Shape...), nil
}
