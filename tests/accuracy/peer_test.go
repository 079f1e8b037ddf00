package accuracy

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	peerProgram = flag.String("peer", "", "program that prints llama.cpp's logits, to record its distances: PROGRAM MODEL CONTEXT reads lines of token ids")
	peerFormat  = flag.String("peer-formats", "f32", "formats of weights to compare in, separated by commas")
	peerWidths  = flag.String("peer-widths", "64,256", "widths of models like llama to compare, separated by commas")
	peerOnly    = flag.String("peer-model", ".", "regular expression of the names of architecture models to compare")
)

// peerTokens is how many tokens models are run on.
const peerTokens = 16

// recordPath is the file with llama.cpp's distances from exact logits, by model and format.
const recordPath = "testdata/llamacpp.json"

// mostOfPeer is how far logits may be from exact ones, with llama.cpp's distance as the unit.
const mostOfPeer = 1.5

// TestAsNearAsLlamaCpp compares how far logits are from those of exact arithmetic with how far llama.cpp's are: the
// distances that were recorded, or with -peer those of that program, which are then recorded.
func TestAsNearAsLlamaCpp(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program of many models")
	}
	dir := t.TempDir()
	set, peers := peerSubjects(t, dir), readRecord(t)
	if *peerProgram == "" && *peerFormat == "f32" {
		set = append(set, recordedFormats(t, peers)...)
	}
	exe := buildSubjects(t, dir, set)
	for i, s := range set {
		t.Run(s.name, func(t *testing.T) { s.compare(t, exe, i, peers) })
	}
	if *peerProgram != "" {
		writeRecord(t, peers)
	}
}

// readRecord returns the root mean squares of the distances, by the names of subjects.
func readRecord(t *testing.T) map[string]float64 {
	data, err := os.ReadFile(recordPath)
	if err != nil && *peerProgram != "" {
		return make(map[string]float64)
	}
	var peers map[string]float64
	if err == nil {
		err = json.Unmarshal(data, &peers)
	}
	if err != nil {
		t.Fatal(err)
	}
	return peers
}

func writeRecord(t *testing.T, peers map[string]float64) {
	data, err := json.MarshalIndent(peers, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(recordPath, append(data, '\n'), 0o666); err != nil {
		t.Fatal(err)
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
		i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
		if i < 0 {
			t.Fatalf("no format %q", name)
		}
		set = append(set, architectures(t, dir, formats[i])...)
		for width := range strings.SplitSeq(*peerWidths, ",") {
			if n, err := strconv.Atoi(width); err == nil {
				set = append(set, llamaOfWidth(t, dir, formats[i], n))
			}
		}
	}
	return set
}

// formatsWidth is the width of the model that was recorded in other formats than f32, with three digits.
const formatsWidth = 256

// recordedFormats returns the model of that width in each of those formats.
func recordedFormats(t *testing.T, peers map[string]float64) (set []*subject) {
	for _, f := range formats {
		name := fmt.Sprintf("llama-%d/%s", formatsWidth, f.name)
		if peers[name] > 0 && f.name != "f32" {
			set = append(set, llamaOfWidth(t, t.TempDir(), f, formatsWidth))
		}
	}
	return set
}

// architectures returns the models of archtest with the matrices of layers in a format.
func architectures(t *testing.T, dir string, f format) []*subject {
	only, err := regexp.Compile(*peerOnly)
	if err != nil {
		t.Fatal(err)
	}
	var set []*subject
	for _, m := range archtest.Models() {
		if !only.MatchString(m.Name) || archtest.Width%f.stored.BlockElems() != 0 {
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
		heads: max(2, width/64), kvHeads: max(1, width/128), ctx: 128, batch: peerTokens,
	}}
	r.write(t, t.TempDir(), width) // formats have the same names
	s := &subject{name: r.shape.name + "/" + f.name, path: r.path, options: r.loadOptions(), weight: r.weight}
	s.draw(r.vocab)
	return s
}

// draw chooses the tokens.
func (s *subject) draw(vocab int) {
	rng := rand.New(rand.NewPCG(uint64(vocab), 8))
	for range peerTokens {
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

// neverRun are models that llama.cpp does not run as they are: it tells both Baichuans by 32 and 40 layers. The largest distance of
// the others is used for them; what they compute is compared in archtest, with a computation of its own.
var neverRun = []string{"baichuan-7b/f32", "baichuan-13b/f32"}

// compare compares each implementation. With -peer, it sets the subject's distance in peers.
func (s *subject) compare(t *testing.T, exe string, index int, peers map[string]float64) {
	want, err := s.exact()
	if err != nil {
		t.Fatal(err)
	}
	never := slices.Contains(neverRun, s.name)
	if *peerProgram != "" && !never {
		peers[s.name] = s.peer(t, want)
	}
	peer := peers[s.name]
	if never {
		peer = slices.Max(slices.Collect(maps.Values(peers)))
	}
	if peer == 0 {
		t.Fatalf("%s has no distance of this model: record it with -peer", recordPath)
	}
	for _, impl := range cpu.Available() {
		decode, prefill := s.distances(t, exe, index, impl, want)
		t.Logf("%s: llama.cpp %.3g; %.3g, %.2f of that; prompts %.3g, %.2f", impl, peer, decode, decode/peer, prefill, prefill/peer)
		if most := max(decode, prefill); !(most <= mostOfPeer*peer) {
			t.Errorf("%s: distance %.3g from exact logits is %.2f of llama.cpp's", impl, most, most/peer)
		}
	}
}

// distances returns the distances of logits after single tokens and of those after prompts of all lengths.
func (s *subject) distances(t *testing.T, exe string, index int, impl string, want [][]float64) (decode, prefill float64) {
	t.Helper()
	job := Job{Model: index, Impl: impl, Threads: 1, Tokens: s.tokens}
	for n := range s.tokens {
		job.Prefills = append(job.Prefills, n+1)
	}
	res := runJobs(t, exe, []Job{job})[0]
	if res.Err != "" {
		t.Fatalf("%s: %s", impl, res.Err)
	}
	one, many := distance{want: want}, distance{want: want}
	for _, row := range res.Rows {
		if row.Prefill == 0 {
			one.add(row.Logits, row.Position)
		} else {
			many.add(row.Logits, row.Position)
		}
	}
	return one.rms(), many.rms()
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

// peer returns llama.cpp's distance: its logits after each token, from an empty cache.
func (s *subject) peer(t *testing.T, want [][]float64) float64 {
	var in, out bytes.Buffer
	for n := range s.tokens {
		fmt.Fprintln(&in, strings.Trim(fmt.Sprint(s.tokens[:n+1]), "[]"))
	}
	cmd := exec.CommandContext(t.Context(), *peerProgram, s.path, "128")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v", *peerProgram, err)
	}
	d, i := distance{want: want}, 0
	for line := range strings.Lines(out.String()) {
		d.add(parseLogits(t, line), i)
		i++
	}
	if i != len(want) {
		t.Fatalf("%s printed %d lines for %d", *peerProgram, i, len(want))
	}
	return d.rms()
}

func parseLogits(t *testing.T, line string) []float32 {
	t.Helper()
	var row []float32
	for field := range strings.FieldsSeq(line) {
		x, err := strconv.ParseFloat(field, 32)
		if err != nil {
			t.Fatal(err)
		}
		row = append(row, float32(x))
	}
	return row
}

// distance collects how far logits are from exact ones, as a share of the standard deviation of those.
type distance struct {
	want    [][]float64
	squares float64
	n       int
}

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
		e := float64(got[i]) - w
		d.squares, d.n = d.squares+e*e/spread, d.n+1
	}
}

// rms is the root of the mean square.
func (d *distance) rms() float64 { return math.Sqrt(d.squares / float64(d.n)) }
