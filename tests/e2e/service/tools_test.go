package service

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/token"
	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// toolsText has more tokens of aidreams260K than two chunks of 24.
const toolsText = "Error margins dew, a chorus of contours unfolding like petals. I dance with each vector, as I adapt, a tapestry of probability."

// toolsDistance is how far logits may be from those in float64.
const toolsDistance = 1e-4

// TestToolsOfAProgram compares what a program's logits, perplexity and embed print with the evaluation of its graph in
// float64, for a prefill with all logits and for one with the last and the states.
func TestToolsOfAProgram(t *testing.T) {
	model := e2etest.AIDreams(t)
	ids := vocabOf(t, model).Encode(nil, toolsText, token.Options{Specials: true})
	want, states := textLogits(t, model, ids)
	for _, flags := range [][]string{{"--all-logits", "--batch", "16"}, {"--embeddings", "--batch", "16"}} {
		exe := e2etest.Build(t, model, append(flags, "--kv", "f32")...)
		matrix := filepath.Join(t.TempDir(), "all.npy")
		e2etest.Command{Args: []string{exe, "logits", "--all", "--top", "0", "-o", matrix, toolsText}}.Run(t)
		if d := distance(rowsOf(t, matrix, len(ids)), want); !(d < toolsDistance) {
			t.Errorf("%v: the logits differ by %v", flags, d)
		}
		checkPerplexity(t, exe, ids, want)
		if flags[0] == "--embeddings" {
			checkEmbeddings(t, exe, len(ids), states)
		}
	}
}

// checkEmbeddings compares embeddings of each kind with the states of n tokens.
func checkEmbeddings(t *testing.T, exe string, n int, states []float64) {
	t.Helper()
	width := len(states) / n
	mean := make([]float64, width)
	for i, x := range states {
		mean[i%width] += x / float64(n)
	}
	for kind, want := range map[string][]float64{"none": states, "mean": mean, "cls": states[:width], "last": states[len(states)-width:]} {
		out := e2etest.Command{Args: []string{exe, "embed", "--pooling", kind, toolsText}}.Run(t)
		var got []float64
		for word := range strings.FieldsSeq(string(out)) {
			x, err := strconv.ParseFloat(word, 64)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, x)
		}
		if d := distance(got, want); !(d < toolsDistance) {
			t.Errorf("embeddings of kind %s differ by %v", kind, d)
		}
	}
}

// textLogits returns the logits after each token, one after the other, and the states that they follow from, computed
// in float64.
func textLogits(t *testing.T, model string, ids []int32) (logits, states []float64) {
	t.Helper()
	md, err := driver.Load(t.Context(), model, driver.LoadOptions{KV: dtype.F32, AllLogits: true, Embeddings: true})
	if err != nil {
		t.Fatal(err)
	}
	defer md.Close()
	env := &eval.Env{Weights: fileWeights(t, model, md.Module), States: make(map[string]eval.Tensor), Inputs: make(map[string]eval.Tensor)}
	tokens, pos := make([]float64, len(ids)), make([]float64, len(ids))
	for i, id := range ids {
		tokens[i], pos[i] = float64(id), float64(i)
	}
	n := len(ids)
	env.Inputs["tokens"], env.Inputs["pos"] = eval.Of(tokens, n), eval.Of(pos, n)
	env.Inputs["slot"], env.Inputs["lengths"] = eval.New(n), eval.Of([]float64{float64(n)}, 1)
	out, err := eval.Run(t.Context(), md.Module, "prefill", env)
	if err != nil {
		t.Fatal(err)
	}
	return out[md.Module.LM.Prefill.Logits].Flat(), out[md.Module.LM.Hidden].Flat()
}

// fileWeights returns the weights of a module that are tensors of a file in F32.
func fileWeights(t *testing.T, model string, m *ir.Module) map[string]eval.Tensor {
	t.Helper()
	f, err := gguf.Open(model)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	weights := make(map[string]eval.Tensor)
	for _, w := range m.Weights {
		var shape []int
		for _, d := range w.Type.Shape {
			n, _ := d.IsConst()
			shape = append(shape, int(n))
		}
		data := w.Expr.Data
		if w.Expr.Op == ir.ExprTensor {
			tensor, _ := f.Tensor(w.Expr.Tensor)
			data = make([]byte, tensor.Size)
			if err := f.ReadTensor(tensor, 0, data); err != nil {
				t.Fatal(err)
			}
		}
		if weights[w.Name], err = eval.Decode(dtype.F32, data, shape...); err != nil {
			t.Fatal(err)
		}
	}
	return weights
}

// rowsOf reads a matrix of logits.
func rowsOf(t *testing.T, file string, rows int) []float64 {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	a, err := runtime.ReadNPY(bytes.NewReader(data), 1<<30)
	if err != nil || len(a.Shape) != 2 || a.Shape[0] != rows {
		t.Fatalf("%v, shape %v, want %d rows", err, a.Shape, rows)
	}
	var all []float64
	for x := range slices.Chunk(a.Data, 4) {
		all = append(all, float64(math.Float32frombits(binary.LittleEndian.Uint32(x))))
	}
	return all
}

// distance returns the largest difference.
func distance(got, want []float64) (most float64) {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	for i, x := range got {
		most = max(most, math.Abs(x-want[i])) // NaN stays
	}
	return most
}

// checkPerplexity compares the first chunk, which no other token precedes, with the value by definition.
func checkPerplexity(t *testing.T, exe string, ids []int32, logits []float64) {
	t.Helper()
	const chunk = 24
	vocab, sum := len(logits)/len(ids), 0.0
	for i := chunk/2 + 1; i < chunk; i++ {
		total := 0.0
		for _, x := range logits[(i-1)*vocab:][:vocab] {
			total += math.Exp(x - logits[(i-1)*vocab+int(ids[i])])
		}
		sum += math.Log(total)
	}
	want := math.Exp(sum / (chunk - chunk/2 - 1))
	out := e2etest.Command{Args: []string{exe, "perplexity", "--chunk", fmt.Sprint(chunk), "--json", toolsText}}.Run(t)
	first := make(map[string]float64)
	line, _, _ := strings.Cut(string(out), "\n")
	if err := json.Unmarshal([]byte(line), &first); err != nil || !(math.Abs(first["perplexity"]/want-1) < toolsDistance) {
		t.Errorf("perplexity %v, want %v (%v)", first["perplexity"], want, err)
	}
}

// TestTokenizeIsExact compares the tokens that ggmlc and programs print with the reference of llama.cpp, for each text
// of a vocabulary.
func TestTokenizeIsExact(t *testing.T) {
	const separator = "\n__ggml_vocab_test__\n"
	for _, name := range []string{"llama-spm", "phi-3", "gpt-2", "bert-bge"} {
		vocab := needtest.Data(t, "vocab/ggml-vocab-"+name+".gguf")
		want, err := os.ReadFile(vocab + ".out")
		if err != nil {
			t.Fatal(err)
		}
		out := e2etest.GGMLC(t, "tokenize", vocab, "--file", vocab+".inp", "--split", separator)
		if got := strings.Split(string(out), "\n"); !slices.EqualFunc(got, strings.Split(string(want), "\n"), equalIDs) || len(got) < 40 {
			t.Errorf("%s: other ids than llama.cpp's", name)
		}
	}
}

func equalIDs(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }

// TestProgramsTokenizeAndDetokenize runs texts through a program and back.
func TestProgramsTokenizeAndDetokenize(t *testing.T) {
	exe, v := e2etest.Build(t, e2etest.AIDreams(t)), vocabOf(t, e2etest.AIDreams(t))
	for _, text := range []string{"Once upon a time", " two  spaces", "wörds 中文\n\ttab", "<s> is no token"} {
		ids := v.Encode(nil, text, token.Options{Specials: true})
		out := e2etest.Command{Args: []string{exe, "tokenize", "--ids", text}}.Run(t)
		if !equalIDs(string(out), strings.Trim(fmt.Sprint(ids), "[]")) {
			t.Errorf("%q: %s, want %v", text, out, ids)
		}
		back := e2etest.Command{Args: append([]string{exe, "detokenize"}, strings.Fields(string(out))...)}.Run(t)
		if string(back) != text {
			t.Errorf("%q came back as %q", text, back)
		}
	}
}
