// Command runner runs generated packages for the accuracy tests: a job comes on standard
// input, what the models computed goes to standard output, both as gob.
package main

import (
	"bufio"
	"context"
	"encoding/gob"
	"fmt"
	"os"
	goruntime "runtime"

	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/runtime"
)

// Job says what to run; the test declares the same type.
type Job struct {
	Model    int // index into models
	Impl     string
	Threads  int
	Tokens   []int32
	Prefills []int // lengths of prompts; the rest of Tokens is decoded after the last one
}

// Row is the logits after the first Position+1 tokens.
type Row struct {
	Prefill  int // length of the prompt; 0: decoded one by one from the beginning
	Position int
	Logits   []float32
}

// Result is what a job gave.
type Result struct {
	Job  Job
	Rows []Row
	Err  string
}

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve() error {
	var jobs []Job
	if err := gob.NewDecoder(os.Stdin).Decode(&jobs); err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	enc := gob.NewEncoder(out)
	for _, j := range jobs {
		r := Result{Job: j}
		var err error
		if r.Rows, err = j.run(); err != nil {
			r.Err = err.Error()
		}
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return out.Flush()
}

// run does one job, on exactly as many workers as it says: models this small would be
// given fewer.
func (j Job) run() ([]Row, error) {
	if err := cpu.Select(j.Impl); err != nil {
		return nil, err
	}
	p := *models[j.Model]
	p.Funcs = append([]runtime.Func(nil), p.Funcs...)
	for i := range p.Funcs {
		p.Funcs[i].MaxParts = 0
	}
	goruntime.GOMAXPROCS(max(j.Threads, goruntime.NumCPU()))
	m, err := runtime.Open(&p, runtime.Options{Threads: j.Threads, Poison: true})
	if err != nil {
		return nil, err
	}
	defer m.Close()
	if m.Threads() != j.Threads {
		return nil, fmt.Errorf("%d threads instead of %d", m.Threads(), j.Threads)
	}
	if err := m.Verify(); err != nil {
		return nil, err
	}
	return j.steps(m)
}

func (j Job) steps(m *runtime.Model) ([]Row, error) {
	c := collector{tokens: j.Tokens}
	s, err := m.NewSession()
	if err != nil {
		return nil, err
	}
	for i, n := range j.Prefills {
		s.Reset()
		c.prefill = n
		if err := c.add(s.Prefill(context.Background(), j.Tokens[:n])); err != nil {
			return nil, err
		}
		if i == len(j.Prefills)-1 {
			if err := c.decode(s, n); err != nil {
				return nil, err
			}
		}
	}
	s.Reset()
	c.prefill, c.position = 0, 0
	return c.rows, c.decode(s, 0)
}

// collector keeps rows.
type collector struct {
	tokens            []int32
	prefill, position int
	rows              []Row
}

func (c *collector) decode(s *runtime.Session, from int) error {
	for i := from; i < len(c.tokens); i++ {
		c.position = i
		logits, err := s.Decode(context.Background(), c.tokens[i])
		if err != nil {
			return err
		}
		c.keep(logits)
	}
	return nil
}

func (c *collector) add(logits []float32, err error) error {
	if err != nil {
		return err
	}
	c.position = c.prefill - 1
	c.keep(logits)
	return nil
}

func (c *collector) keep(logits []float32) {
	c.rows = append(c.rows, Row{c.prefill, c.position, append([]float32(nil), logits...)})
}
