package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("perplexity: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		log.Fatal(err)
	}
}

// lab is one run of the command.
type lab struct {
	dir  string // for files that the run needs
	text string // file
	base map[string]measured
}

func run(ctx context.Context, w io.Writer, args []string) error {
	flags := flag.NewFlagSet("perplexity", flag.ContinueOnError)
	model := flags.String("model", "../shared/data/aidreams260K.gguf", "a llama in F32")
	texts := flags.Int("texts", 400, "how many texts are drawn")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "perplexity-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l := &lab{dir: dir, text: filepath.Join(dir, "text"), base: make(map[string]measured)}
	if err := l.tool(ctx, "go", "build", "-o", l.path("ggmlc"), "./cmd/ggmlc"); err != nil {
		return err
	}
	m, err := readLlama(*model)
	if err != nil {
		return err
	}
	if err := errors.Join(m.write(l.path("narrow.gguf"), dtype.F32), m.widen().write(l.path("wide.gguf"), dtype.F32)); err != nil {
		return err
	}
	if err := l.draw(ctx, *texts); err != nil {
		return err
	}
	return l.table(ctx, w, m)
}

func (l *lab) path(name string) string { return filepath.Join(l.dir, name) }

// tool runs a command, whose errors are shown.
func (l *lab) tool(ctx context.Context, name string, args ...string) error {
	_, err := l.output(ctx, name, args...)
	return err
}

// output runs a command and returns its standard output.
func (l *lab) output(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, errs.Bytes())
	}
	return out.Bytes(), nil
}

// build compiles a model to the program a.
func (l *lab) build(ctx context.Context, model string, flags ...string) error {
	return l.tool(ctx, l.path("ggmlc"), append([]string{"build", model, "-o", l.path("a"), "--kv", "f32", "--all-logits"}, flags...)...)
}

// draw writes the text: n texts of the model in F32, one after the other.
func (l *lab) draw(ctx context.Context, n int) error {
	if err := l.build(ctx, l.path("narrow.gguf")); err != nil {
		return err
	}
	var text []byte
	for seed := range n {
		out, err := l.output(ctx, l.path("a"), "--tokens", "1", "--temp", "1", "--top-k", "0", "--top-p", "1", "--min-p", "0", "--seed", fmt.Sprint(seed))
		if err != nil {
			return err
		}
		text = append(text, bytes.ToValidUTF8(out, nil)...) // programs differ in how they read what is no UTF-8
	}
	return os.WriteFile(l.text, text, 0o666)
}

// measured is the result for one program.
type measured struct {
	value, deviation float64
	sums             []float64 // of -log p, by chunk
	predicted        int
	bytes            int64 // of weights
}

// measure runs the program a.
func (l *lab) measure(ctx context.Context) (m measured, err error) {
	out, err := l.output(ctx, l.path("a"), "perplexity", "--json", "--file", l.text)
	if err != nil {
		return m, err
	}
	if m, err = parse(out); err != nil {
		return m, err
	}
	out, err = l.output(ctx, l.path("a"), "verify")
	if _, scan := fmt.Sscanf(string(out), "ok: %d bytes", &m.bytes); err == nil {
		err = scan
	}
	return m, err
}

// parse reads the output of story perplexity --json.
func parse(out []byte) (m measured, err error) {
	var running []float64
	for line := range bytes.Lines(out) {
		var l struct {
			Perplexity float64
			Summary    *struct {
				Perplexity float64
				Deviation  float64 `json:"standard_error"`
				Predicted  int
			}
		}
		if err := json.Unmarshal(line, &l); err != nil {
			return m, fmt.Errorf("%s: %w", line, err)
		}
		if s := l.Summary; s != nil {
			m.value, m.deviation, m.predicted = s.Perplexity, s.Deviation, s.Predicted
		} else {
			running = append(running, l.Perplexity)
		}
	}
	if len(running) == 0 || m.predicted == 0 {
		return m, fmt.Errorf("no summary in %q", out)
	}
	each, before := float64(m.predicted/len(running)), 0.0
	for i, p := range running {
		sum := math.Log(p) * each * float64(i+1)
		m.sums, before = append(m.sums, sum-before), sum
	}
	return m, nil
}

// ratio returns the ratio of two perplexities of the same text, and its standard error. The differences of chunks are
// taken as independent.
func (m measured) ratio(base measured) (ratio, deviation float64) {
	n := float64(len(m.sums))
	each, mean, square := float64(m.predicted)/n, 0.0, 0.0
	for i := range m.sums {
		d := (m.sums[i] - base.sums[i]) / each
		mean += d / n
		square += d * d / n
	}
	ratio = math.Exp(mean)
	return ratio, ratio * math.Sqrt(max(0, square-mean*mean)/(n-1))
}

// formats returns the formats that weights of files can be written in, F32 first.
func formats() []dtype.DType {
	list := []dtype.DType{dtype.F32, dtype.BF16, dtype.F16, dtype.Q8_0, dtype.Q4_0}
	for d := range dtype.NumDTypes {
		if d.Scheme() != nil && !d.IsExpansion() && encodes(d) {
			list = append(list, d)
		}
	}
	slices.SortStableFunc(list[1:], func(a, b dtype.DType) int { return int(1000*bitsOf(b)) - int(1000*bitsOf(a)) })
	return list
}

// encodes reports whether the format can be made from F32.
func encodes(d dtype.DType) bool {
	n := d.BlockElems()
	return dtype.Encode(d, make([]byte, d.Bytes(n)), make([]float32, n)) == nil
}

// bitsOf returns the bits of a weight.
func bitsOf(d dtype.DType) float64 { return 8 * float64(d.BlockBytes()) / float64(d.BlockElems()) }

// table measures all formats and prints a row for each.
func (l *lab) table(ctx context.Context, w io.Writer, m *llama) error {
	fmt.Fprintln(w, "| format | bits | narrow | ratio to F32 | wide | ratio to F32 |\n|---|---|---|---|---|---|")
	for _, d := range formats() {
		row := fmt.Sprintf("| %s | %.4g |", strings.ToUpper(d.String()), bitsOf(d))
		for _, shape := range []struct {
			name  string
			model *llama
		}{{"narrow", m}, {"wide", m.widen()}} {
			cells, err := l.cells(ctx, shape.name, shape.model, d)
			if err != nil {
				return err
			}
			row += cells
		}
		if _, err := fmt.Fprintln(w, row); err != nil {
			return err
		}
	}
	f := l.base["narrow"]
	fmt.Fprintf(w, "\n%d tokens predicted in %d chunks of %d. Bytes of packed weights in F32: %d (narrow), %d (wide).\n",
		f.predicted, len(f.sums), m.context, f.bytes, l.base["wide"].bytes)
	return nil
}

// cells returns the perplexity and its ratio to that in F32 for one shape and format.
func (l *lab) cells(ctx context.Context, name string, m *llama, d dtype.DType) (string, error) {
	if m.width%d.BlockElems() != 0 {
		return " - | - |", nil
	}
	file, flags := l.path(name+".gguf"), []string{"--quantize", d.String()}
	if d.IsFloat() { // no conversion of the compiler's: the file has the format
		file, flags = l.path(name+"-"+d.String()+".gguf"), nil
		if err := m.write(file, d); err != nil {
			return "", err
		}
	}
	if err := l.build(ctx, file, flags...); err != nil {
		return "", err
	}
	got, err := l.measure(ctx)
	if err != nil {
		return "", err
	}
	if d == dtype.F32 {
		l.base[name] = got
		return fmt.Sprintf(" %.4f ± %.3f | 1 |", got.value, got.deviation), nil
	}
	ratio, deviation := got.ratio(l.base[name])
	return fmt.Sprintf(" %.4f | %.5f ± %.5f |", got.value, ratio, deviation), nil
}
