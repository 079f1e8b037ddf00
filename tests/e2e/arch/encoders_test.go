package arch

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/tests/e2etest"
)

// TestProgramsOfEncoders builds programs of encoders. Their embeddings of the prompts are near llama.cpp's.
func TestProgramsOfEncoders(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	for _, model := range archtest.Encoders() {
		if slices.Contains([]string{"bert-mean", "gemma-embedding", "jina-bert-v2-code", "modern-bert", "nomic-bert-moe"}, model.Name) {
			t.Run(model.Name, func(t *testing.T) { programOfEncoder(t, withLetters(model)) })
		}
	}
}

// programOfEncoder builds the program of an encoder that pools by the mean.
func programOfEncoder(t *testing.T, model archtest.Model) {
	dir := t.TempDir()
	path := filepath.Join(dir, model.Name+".gguf")
	e2etest.WriteModel(t, path, model)
	exe := e2etest.BuildTo(t, filepath.Join(dir, "program"), nil, path, "--ctx", "256")
	for i, prompt := range archtest.Prompts() {
		n := len(prompt)
		pos, last := make([]int32, n), make([]int32, n)
		for k := range pos {
			pos[k], last[k] = int32(k), int32(n-1)
		}
		args := []string{"call", "embed", "-o", dir}
		for name, list := range map[string][]int32{"tokens": prompt, "pos": pos, "last": last, "slot": make([]int32, n), "lengths": append([]int32{int32(n)}, make([]int32, 15)...)} {
			file := filepath.Join(dir, name+".npy")
			e2etest.WriteFile(t, file, e2etest.Array{DType: dtype.I32, Shape: []int{len(list)}, Ints: list}.NPY(t))
			args = append(args, name+"="+file)
		}
		if out, err := exec.Command(exe, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		y, err := runtime.ReadNPY(bytes.NewReader(e2etest.ReadFile(t, filepath.Join(dir, "hidden.npy"))), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, archtest.Width) // the mean
		for k := range len(y.Data) / 4 {
			got[k%archtest.Width] += float64(math.Float32frombits(binary.LittleEndian.Uint32(y.Data[4*k:]))) / float64(n)
		}
		reference := e2etest.ArchitectureReference(t)[model.Name][i]
		if d := e2etest.Relative(got, reference); !(d <= e2etest.MaxRounding) {
			t.Errorf("prompt %d: distance %.3g from llama.cpp's embedding", i, d)
		}
		ids := strings.Trim(strings.ReplaceAll(fmt.Sprint(prompt), " ", ","), "[]")
		if d := e2etest.Relative(embedded(t, exe, "--raw", "--tokens", ids)[0], reference); !(d <= e2etest.MaxRounding) {
			t.Errorf("prompt %d by embed: distance %.3g from llama.cpp's embedding", i, d)
		}
		if d := e2etest.Relative(embedded(t, exe, "--tokens", ids)[0], normalized(reference)); !(d <= e2etest.MaxRounding) {
			t.Errorf("prompt %d by embed: distance %.3g from llama.cpp's normalized embedding", i, d)
		}
	}
	checkTexts(t, exe, path, model)
	checkSteps(t, exe)
}

// checkSteps compares embeddings of texts of many lengths, of which a step takes several, with those of each text
// alone: they have the same bits, for any number of threads.
func checkSteps(t *testing.T, exe string) {
	var lines, alone strings.Builder
	for i := range 60 {
		text := strings.Repeat("ab ", i*i*i%37) + strings.Repeat("c", i%3)
		fmt.Fprintln(&lines, text)
		out, err := exec.Command(exe, "embed", text).Output()
		if err != nil {
			t.Fatal(err)
		}
		alone.Write(out)
	}
	file := filepath.Join(t.TempDir(), "texts")
	e2etest.WriteFile(t, file, []byte(lines.String()))
	for _, threads := range []string{"1", "2", "5"} {
		out, err := exec.Command(exe, "embed", "--lines", "--file", file, "--threads", threads).Output()
		if err != nil || string(out) != alone.String() {
			t.Errorf("%s threads: %v, %d bytes that differ from the %d of each text alone", threads, err, len(out), alone.Len())
		}
	}
}

// TestProgramsThatRank builds a program of an encoder with a classification head. Its scores of prompts, and of texts
// for a query, are near the scores that archtest computes.
func TestProgramsThatRank(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	dir := t.TempDir()
	at := slices.IndexFunc(archtest.Encoders(), func(m archtest.Model) bool { return m.Name == "bert-rank" })
	model := withLetters(archtest.Encoders()[at])
	path, file := filepath.Join(dir, "model.gguf"), filepath.Join(dir, "texts")
	e2etest.WriteModel(t, path, model)
	exe := e2etest.BuildTo(t, filepath.Join(dir, "program"), nil, path)
	near := func(what string, got []embedding, i int, ids []int32) {
		if d := e2etest.Relative(got[i].Scores, model.Direct(ids)); len(got[i].Embedding) > 0 || !(d <= e2etest.MaxRounding) {
			t.Errorf("%s: distance %.3g from the scores: %v", what, d, got[i])
		}
	}
	for _, prompt := range archtest.Prompts() {
		near("a prompt", embeddings(t, exe, "--tokens", strings.Trim(strings.ReplaceAll(fmt.Sprint(prompt), " ", ","), "[]")), 0, prompt)
	}
	near("a text", embeddings(t, exe, "cab"), 0, spelled("[CLS] \u2581c a b [SEP]"))
	e2etest.WriteFile(t, file, []byte("zz\na b\n\n"))
	all := embeddings(t, exe, "--query", "cab", "--lines", "--file", file)
	for i, text := range []string{"[UNK]", "\u2581a \u2581b", ""} {
		near("line "+text, all, i, spelled("[CLS] \u2581c a b [SEP] "+text))
	}
	if first := embeddings(t, exe, "--pooling", "cls", "--raw", "cab")[0]; len(first.Embedding) != archtest.Width || first.Scores != nil {
		t.Errorf("with another pooling: %v", first)
	}
	for want, args := range map[string][]string{
		"--normalize: scores have no length":   {"--normalize", "a"},
		"--query and --pooling mean":           {"--query", "a", "--pooling", "mean", "b"},
		"--query with --tokens":                {"--query", "a", "--tokens", "1,2"},
		"a text of 302 tokens: bert-rank":      {"--query", strings.Repeat("a ", 299), "b"},
		"choose one of [mean last cls none ra": {"--pooling", "most", "b"},
	} {
		cmd := exec.Command(exe, append([]string{"embed"}, args...)...)
		if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), want) {
			t.Errorf("%v: %v, %s, want %q", args, err, out, want)
		}
	}
}

// spelled returns the tokens with these names.
func spelled(names string) (ids []int32) {
	for name := range strings.FieldsSeq(names) {
		ids = append(ids, int32(slices.Index(letters(), name)))
	}
	return ids
}

// letters are the tokens of a vocabulary: those of BERT's around a text, beginnings of words, and continuations.
func letters() []string {
	list := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]"}
	for c := 'a'; c <= 'z'; c++ {
		list = append(list, "\u2581"+string(c))
	}
	for c := 'a'; len(list) < archtest.Vocab; c++ {
		list = append(list, string(c))
	}
	return list
}

// withLetters is a model with a vocabulary.
func withLetters(m archtest.Model) archtest.Model {
	for key, value := range map[string]any{"model": "bert", "tokens": letters(), "bos_token_id": uint32(2), "seperator_token_id": uint32(3), "unknown_token_id": uint32(1)} {
		m.Keys = append(m.Keys, archtest.Key{Name: "tokenizer.ggml." + key, Value: value})
	}
	return m
}

// checkTexts compares the embeddings of texts with an evaluation of their tokens in float64, which are spelled here.
func checkTexts(t *testing.T, exe, path string, model archtest.Model) {
	file := filepath.Join(t.TempDir(), "texts")
	e2etest.WriteFile(t, file, []byte("Cab\nfée a\nzz\n\n"))
	all := embedded(t, exe, "--lines", "--file", file)
	for i, names := range []string{"[CLS] \u2581c a b [SEP]", "[CLS] \u2581f e e \u2581a [SEP]", "[CLS] [UNK] [SEP]", "[CLS] [SEP]"} {
		if d := e2etest.Relative(all[i], normalized(exactEmbedding(t, path, model, spelled(names)))); !(d <= e2etest.MaxRounding) {
			t.Errorf("text %d: distance %.3g from that of %s", i, d, names)
		}
	}
	long := exec.Command(exe, "embed", strings.Repeat("a ", 300))
	out, _ := long.CombinedOutput()
	if status := long.ProcessState.ExitCode(); status != 2 || !strings.Contains(string(out), "a text of 302 tokens: "+model.Name+" takes 1 to 256 at once") {
		t.Errorf("a text that is too long: status %d, %s", status, out)
	}
	help, err := exec.Command(exe, "-h").Output()
	if err != nil || strings.Contains(string(help), "--prompt") || !strings.Contains(string(help), "embed TEXT") {
		t.Errorf("help: %s, %v", help, err)
	}
}

// exactEmbedding evaluates the imported graph in float64, and takes the mean.
func exactEmbedding(t *testing.T, path string, model archtest.Model, ids []int32) []float64 {
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := arch.Build(f, arch.Options{Context: archtest.Positions})
	if err != nil {
		t.Fatal(err)
	}
	env, err := model.Env(m, ids)
	if err != nil {
		t.Fatal(err)
	}
	y, err := eval.Run(t.Context(), m, "embed", env)
	if err != nil {
		t.Fatal(err)
	}
	mean, states := make([]float64, archtest.Width), y[0].Flat()
	for i, x := range states {
		mean[i%archtest.Width] += x / float64(len(ids))
	}
	return mean
}

// embedded returns the embeddings that the command embed prints.
func embedded(t *testing.T, exe string, args ...string) (all [][]float64) {
	for _, e := range embeddings(t, exe, args...) {
		all = append(all, e.Embedding)
	}
	return all
}

// embedding is a line of the command embed.
type embedding struct{ Embedding, Scores []float64 }

// embeddings returns what the command embed prints.
func embeddings(t *testing.T, exe string, args ...string) (all []embedding) {
	out, err := exec.Command(exe, append([]string{"embed", "--json"}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var v embedding
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}

// normalized is x divided by its Euclidean length.
func normalized(x []float64) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v / math.Sqrt(sum)
	}
	return y
}
