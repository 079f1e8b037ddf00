package gpu

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// layerFormats are the formats of the matrices of two layers: those of queries, keys, values, the attention's output,
// gate, up, down. All block formats but q8_0 and q4_0 are among them.
var layerFormats = [][7]dtype.DType{
	{dtype.Q4_1, dtype.Q5_0, dtype.Q5_1, dtype.Q2_K, dtype.Q3_K, dtype.Q3_K, dtype.Q5_K},
	{dtype.IQ4_NL, dtype.IQ4_XS, dtype.MXFP4, dtype.Q5_0, dtype.Q4_K, dtype.Q4_K, dtype.Q6_K},
}

// mixedModel writes a random model with matrices of layerFormats. The result has the numbers that the file's bytes
// mean.
func mixedModel(t *testing.T, path string) archtest.Model {
	const embd, ff, heads, kv, vocab = 256, 512, 8, 4, 96
	w, rng := gguf.NewWriter(), rand.New(rand.NewPCG(20, 1))
	model := archtest.Model{Name: "mixed", Keys: []archtest.Key{{Name: "general.architecture", Value: "llama"}}}
	for name, n := range map[string]uint32{
		"block_count": uint32(len(layerFormats)), "embedding_length": embd, "feed_forward_length": ff, "context_length": 256,
		"attention.head_count": heads, "attention.head_count_kv": kv,
	} {
		model.Keys = append(model.Keys, archtest.Key{Name: "llama." + name, Value: n})
	}
	model.Keys = append(model.Keys, archtest.Key{Name: "llama.attention.layer_norm_rms_epsilon", Value: float32(1e-5)})
	for _, k := range model.Keys {
		w.Set(k.Name, k.Value)
	}
	add := func(name string, d dtype.DType, shape ...int) {
		model.Tensors = append(model.Tensors, randomTensor(t, w, rng, name, d, shape))
	}
	add("token_embd.weight", dtype.Q4_K, vocab, embd)
	for i, formats := range layerFormats {
		at := func(name string) string { return fmt.Sprintf("blk.%d.%s.weight", i, name) }
		add(at("attn_norm"), dtype.F32, embd)
		add(at("ffn_norm"), dtype.F32, embd)
		for m, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"} {
			rows := []int{embd, embd * kv / heads, embd * kv / heads, embd, ff, ff, embd}[m]
			cols := embd
			if name == "ffn_down" {
				cols = ff
			}
			add(at(name), formats[m], rows, cols)
		}
	}
	add("output_norm.weight", dtype.F32, embd)
	add("output.weight", dtype.Q6_K, vocab, embd)
	if err := w.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	return model
}

// randomTensor adds a tensor to a file: a matrix whose products keep the size of what they multiply, or a vector.
func randomTensor(t *testing.T, w *gguf.Writer, rng *rand.Rand, name string, d dtype.DType, shape []int) archtest.Tensor {
	n, k := 1, shape[len(shape)-1]
	for _, s := range shape {
		n *= s
	}
	x := archtest.Tensor{Name: name, Shape: shape, Data: make([]float32, n)}
	for i := range x.Data {
		x.Data[i] = float32(rng.NormFloat64() / math.Sqrt(float64(k)))
		if n == k {
			x.Data[i] = 1 + rng.Float32()/2
		}
	}
	data := make([]byte, d.Bytes(n))
	if err := dtype.Encode(d, data, x.Data); err != nil {
		t.Fatal(err)
	}
	if err := dtype.DecodeFloat32(d, x.Data, data); err != nil {
		t.Fatal(err)
	}
	typ, err := gguf.TypeOf(d)
	if err != nil {
		t.Fatal(err)
	}
	w.Tensor(name, typ, shape, func(out io.Writer) error { _, err := out.Write(data); return err })
	return x
}

// TestBlockFormatsOnVulkan runs a model with matrices of all block formats on a GPU, which reads them as they are. Its
// logits are those of an evaluation in float64 of what the file's bytes mean.
func TestBlockFormatsOnVulkan(t *testing.T) {
	needVulkan(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "mixed.gguf")
	model := mixedModel(t, path)
	flags := []string{"--kv", "f32", "--ctx", "256", "--targets", "vulkan,cpu", "--deny", "cpu"}
	dump := string(e2etest.GGMLC(t, slices.Concat([]string{"dump", "--after", "check", path}, flags)...))
	if strings.Contains(dump, "quantize(") {
		t.Error("weights are converted")
	}
	for _, planar := range []string{"q4_1", "q5_0", "iq4_nl", "mxfp4", "q2_k", "q3_k", "q6_k"} {
		if !strings.Contains(dump, ": "+planar+".planar[") {
			t.Errorf("no weight of %s is in planes", planar)
		}
	}
	exe := e2etest.BuildTo(t, filepath.Join(dir, "program"), nil, path, flags...)
	logitsAreExact(t, model, path, append([]string{exe}, patient...), 1e-5)
}

// logitsAreExact runs a program of a model on 20 tokens and two more, compares its logits with those of an evaluation
// in float64, and returns them.
func logitsAreExact(t *testing.T, model archtest.Model, path string, command []string, most float64) (logits [][]float64) {
	t.Helper()
	prompt := make([]int32, 20)
	for i := range prompt {
		prompt[i] = int32((7*i*i + 3*i + 5) % 96)
	}
	tokens := make([]int, len(prompt))
	for i, id := range prompt {
		tokens[i] = int(id)
	}
	for i, line := range e2etest.LogitsAfter(t, command, tokens, 2) {
		var got e2etest.Generated
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if d := e2etest.Relative(got.Logits, e2etest.ExactLogits(t, path, model, prompt)); !(d <= most) {
			t.Errorf("token %d: distance %.3g from exact logits, more than %g", i, d, most)
		} else {
			t.Logf("token %d: distance %.3g from exact logits", i, d)
		}
		logits, prompt = append(logits, got.Logits), append(prompt, *got.ID)
	}
	return logits
}

// TestBlockFormatsWithSlabs runs the model on an NVIDIA GPU, or on a simulated one of compute capability 9.0, that
// multiplies the rows of the prompt by tiles and by slabs. Both round both factors of 14 products to f16, by up to
// 2^-12 each, and differ in the order of sums only.
func TestBlockFormatsWithSlabs(t *testing.T) {
	needtest.Slow(t, "e2e")
	dir := t.TempDir()
	path := filepath.Join(dir, "mixed.gguf")
	model := mixedModel(t, path)
	var first []float64
	for _, mma := range []string{"wgmma", "sync"} {
		exe := e2etest.BuildTo(t, filepath.Join(dir, mma), nil, path, "--kv", "f32", "--ctx", "256", "--targets", "cuda:mma="+mma+",cpu", "--deny", "cpu")
		command, found := append([]string{exe}, patientCUDA...), filepath.Join(dir, "found")
		if !hasCUDA(t) {
			command = append([]string{"env", "LD_LIBRARY_PATH=" + simulatedCUDA(t), "GGMLC_CUDASIM=" + found}, command...)
		}
		logits := logitsAreExact(t, model, path, command, 4e-3)
		if text, err := os.ReadFile(found); err == nil && len(text) > 0 {
			t.Errorf("the driver finds: %s", text)
		}
		if has := strings.Contains(string(e2etest.ReadFile(t, exe)), "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"); has != (mma == "wgmma") {
			t.Errorf("mma=%s: the program has kernels with slabs: %v", mma, has)
		}
		if first == nil {
			first = logits[0]
		} else if d := e2etest.Relative(logits[0], first); !(d <= 1e-5) {
			t.Errorf("the logits of both differ by %.3g", d)
		}
	}
}
