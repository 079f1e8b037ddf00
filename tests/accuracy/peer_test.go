package accuracy

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/kernels/cpu"
)

var (
	peerProgram = flag.String("peer", "", "program that prints llama.cpp's logits: PROGRAM MODEL CONTEXT reads lines of token ids")
	peerFormat  = flag.String("peer-formats", "f32", "formats of weights to compare in, separated by commas")
	peerWidths  = flag.String("peer-widths", "", "widths of models like llama to compare, separated by commas; none: a model of each architecture")
	peerOnly    = flag.String("peer-model", "", "name of the only architecture model to compare")
	peerTokens  = flag.Int("peer-tokens", 16, "tokens to run each model on")
)

// TestAgainstPeer prints how far logits are from those of exact arithmetic, beside how far llama.cpp's are.
func TestAgainstPeer(t *testing.T) {
	if *peerProgram == "" {
		t.Skip("no program given")
	}
	dir := t.TempDir()
	set := peerSubjects(t, dir)
	exe := buildSubjects(t, dir, set)
	for i, s := range set {
		t.Run(s.name, func(t *testing.T) { s.compare(t, exe, i) })
	}
}

// subject is a model that two programs run.
type subject struct {
	name     string
	path     string
	options  driver.LoadOptions
	tokens   []int32
	weight   func(*ir.Weight) ([]float64, error)
	imported *ir.Module
}

func peerSubjects(t *testing.T, dir string) []*subject {
	var set []*subject
	for name := range strings.SplitSeq(*peerFormat, ",") {
		for _, f := range formats {
			if f.name != name {
				continue
			}
			if *peerWidths == "" {
				set = append(set, architectures(t, dir, f)...)
				continue
			}
			for width := range strings.SplitSeq(*peerWidths, ",") {
				n, err := strconv.Atoi(width)
				if err != nil {
					t.Fatal(err)
				}
				set = append(set, llamaOfWidth(t, dir, f, n))
			}
		}
	}
	return set
}

// architectures returns the models of archtest with the matrices of layers in a format.
func architectures(t *testing.T, dir string, f format) []*subject {
	var set []*subject
	for _, m := range archtest.Models() {
		if *peerOnly != "" && m.Name != *peerOnly {
			continue
		}
		m, err := m.In(f.stored)
		if err != nil {
			t.Fatal(err)
		}
		m.Keys = append(m.Keys, archtest.Key{Name: "tokenizer.ggml.model", Value: "none"})
		s := &subject{name: m.Name + "/" + f.name, path: filepath.Join(dir, m.Name+"-"+f.name+".gguf")}
		s.options = driver.LoadOptions{Context: archtest.Positions, KV: dtype.F32}
		s.weight = func(w *ir.Weight) ([]float64, error) { x, err := m.Weight(w); return x.Flat(), err }
		writeFile(t, s.path, m)
		s.draw(archtest.Vocab)
		set = append(set, s)
	}
	return set
}

func writeFile(t *testing.T, path string, m io.WriterTo) {
	t.Helper()
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.WriteTo(out); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// llamaOfWidth returns a model like llama of that width.
func llamaOfWidth(t *testing.T, dir string, f format, width int) *subject {
	r := &random{format: f, kv: dtype.F32, seed: uint64(width), peer: true, shape: shape{
		name: fmt.Sprintf("llama-%d", width), embd: width, ff: 2 * width, vocab: 256,
		heads: max(2, width/64), kvHeads: max(1, width/128), ctx: 128, batch: *peerTokens,
	}}
	r.write(t, dir, width)
	s := &subject{name: r.shape.name + "/" + f.name, path: r.path, options: r.loadOptions(), weight: r.weight}
	s.draw(r.vocab)
	return s
}

// draw chooses the tokens.
func (s *subject) draw(vocab int) {
	rng := rand.New(rand.NewPCG(uint64(vocab), 8))
	for range *peerTokens {
		s.tokens = append(s.tokens, int32(rng.IntN(vocab)))
	}
}

// buildSubjects builds the program that holds all models.
func buildSubjects(t *testing.T, dir string, set []*subject) string {
	for i, s := range set {
		c, err := compileFile(s.path, s.options, false, filepath.Join(dir, fmt.Sprintf("m%d", i)), fmt.Sprintf("m%d", i))
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		s.imported = c.imported
	}
	return buildRunner(t, dir, "runner", len(set))
}

// compare prints a line for each implementation.
func (s *subject) compare(t *testing.T, exe string, index int) {
	want, err := s.exact()
	if err != nil {
		t.Fatal(err)
	}
	peer := s.peer(t)
	theirs := newDistance(want)
	for i, row := range peer {
		theirs.add(row, i)
	}
	for _, impl := range cpu.Available() {
		job := Job{Model: index, Impl: impl, Threads: 1, Tokens: s.tokens}
		for n := range s.tokens {
			job.Prefills = append(job.Prefills, n+1)
		}
		res := runJobs(t, exe, []Job{job})[0]
		if res.Err != "" {
			t.Fatalf("%s: %s", impl, res.Err)
		}
		decode, prefill := newDistance(want), newDistance(want)
		for _, row := range res.Rows {
			if row.Prefill == 0 {
				decode.add(row.Logits, row.Position)
			} else {
				prefill.add(row.Logits, row.Position)
			}
		}
		t.Logf("%-24s %-10s peer %.2e max %.2e  decode %.2e %.2f max %.2f  prefill %.2e %.2f max %.2f", s.name, impl, theirs.rms(), theirs.most,
			decode.rms(), decode.rms()/theirs.rms(), decode.most/theirs.most, prefill.rms(), prefill.rms()/theirs.rms(), prefill.most/theirs.most)
	}
}

// exact returns the logits after each token, in float64.
func (s *subject) exact() ([][]float64, error) {
	env := &eval.Env{Weights: make(map[string]eval.Tensor)}
	for _, w := range s.imported.Weights {
		data, err := s.weight(w)
		if err != nil {
			return nil, err
		}
		var shape []int
		for _, d := range w.Type.Shape {
			n, _ := d.IsConst()
			shape = append(shape, int(n))
		}
		env.Weights[w.Name] = eval.Of(data, shape...)
	}
	var rows [][]float64
	for i := range s.tokens {
		r := &random{}
		out, err := r.eval(s.imported, env, "decode", s.tokens[i:i+1], i)
		if err != nil {
			return nil, err
		}
		rows = append(rows, out)
	}
	return rows, nil
}

// peer returns llama.cpp's logits after each token, each from an empty cache.
func (s *subject) peer(t *testing.T) [][]float32 {
	var in, out bytes.Buffer
	for n := range s.tokens {
		fmt.Fprintln(&in, strings.Trim(fmt.Sprint(s.tokens[:n+1]), "[]"))
	}
	cmd := exec.CommandContext(context.Background(), *peerProgram, s.path, "128")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v", *peerProgram, err)
	}
	var rows [][]float32
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var row []float32
		for field := range strings.FieldsSeq(lines.Text()) {
			x, err := strconv.ParseFloat(field, 32)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, float32(x))
		}
		rows = append(rows, row)
	}
	return rows
}

// distance collects how far logits are from exact ones, as a share of their standard deviation.
type distance struct {
	want    [][]float64
	squares float64
	n       int
	most    float64
}

func newDistance(want [][]float64) *distance { return &distance{want: want} }

func (d *distance) add(got []float32, position int) {
	want := d.want[position]
	var mean, spread float64
	for _, w := range want {
		mean += w / float64(len(want))
	}
	for _, w := range want {
		spread += (w - mean) * (w - mean) / float64(len(want))
	}
	for i, w := range want {
		e := (float64(got[i]) - w) / math.Sqrt(spread)
		d.squares, d.most, d.n = d.squares+e*e, max(d.most, math.Abs(e)), d.n+1
	}
}

func (d *distance) rms() float64 { return math.Sqrt(d.squares / float64(d.n)) }
