package gpu

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/tests/e2etest"
)

// TestQuantizedModelsOnVulkan runs the model with weights of q4_0 and q8_0, which GPUs read in planes, or without. The
// logits are those of the processor with the rounded weights in f32, where nothing else is rounded. The processor's own
// kernels for these formats also round activations, so their tokens may differ where two are about as likely.
func TestQuantizedModelsOnVulkan(t *testing.T) {
	needVulkan(t)
	for _, format := range []dtype.DType{dtype.Q4_0, dtype.Q8_0} {
		t.Run(format.String(), func(t *testing.T) {
			dir := t.TempDir()
			sizes := []string{"--ctx", "256", "--batch", "16"}
			quantize := append(sizes, "--quantize", format.String())
			gpu := slices.Concat(quantize, []string{"--targets", "vulkan,cpu", "--deny", "cpu"})
			plain := slices.Concat(gpu, []string{"--disable", "pack.cost"})
			wantPlanes(t, slices.Concat([]string{e2etest.AIDreams(t)}, gpu), 24)
			wantPlanes(t, slices.Concat([]string{e2etest.AIDreams(t)}, plain), 0)
			rounded := filepath.Join(dir, "rounded.gguf")
			writeRounded(t, rounded, quantize, format)
			exact := e2etest.BuildTo(t, filepath.Join(dir, "exact"), nil, rounded, sizes...)
			onCPU := e2etest.BuildTo(t, filepath.Join(dir, "cpu"), nil, e2etest.AIDreams(t), quantize...)
			onGPU := e2etest.BuildTo(t, filepath.Join(dir, "gpu"), nil, e2etest.AIDreams(t), gpu...)
			onPlain := e2etest.BuildTo(t, filepath.Join(dir, "plain"), nil, e2etest.AIDreams(t), plain...)
			for _, ref := range e2etest.AIDreamsReferences(t) {
				want := told(t, ref.Prompt, []string{exact})
				got := told(t, ref.Prompt, append([]string{onGPU}, patient...))
				sameLogits(t, got, want)
				sameLogits(t, told(t, ref.Prompt, append([]string{onPlain}, patient...)), want)
				agree(t, got, told(t, ref.Prompt, []string{onCPU}))
			}
		})
	}
}

// writeRounded writes the model with those tensors rounded that a build with the given flags quantizes.
func writeRounded(t *testing.T, path string, flags []string, format dtype.DType) {
	t.Helper()
	dump := string(e2etest.GGMLC(t, slices.Concat([]string{"dump", "--after", "import", e2etest.AIDreams(t)}, flags)...))
	quantized := regexp.MustCompile(`= quantize\(m\["([^"]+)"\], `+format.String()+`\)`).FindAllStringSubmatch(dump, -1)
	if len(quantized) < 24 {
		t.Fatalf("%d tensors are quantized:\n%s", len(quantized), dump)
	}
	f, err := gguf.Open(e2etest.AIDreams(t))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	file := e2etest.ReadFile(t, e2etest.AIDreams(t))
	for _, q := range quantized {
		x, ok := f.Tensor(q[1])
		if !ok || x.Type != gguf.TensorF32 {
			t.Fatalf("%s is no tensor of f32", q[1])
		}
		round(t, file[x.Offset:][:x.Size], format)
	}
	e2etest.WriteFile(t, path, file)
}

// round replaces numbers of f32 by what a format has in their place.
func round(t *testing.T, data []byte, format dtype.DType) {
	t.Helper()
	x := make([]float32, len(data)/4)
	blocks := make([]byte, format.RowBytes(len(x)))
	if _, err := binary.Decode(data, binary.LittleEndian, x); err != nil {
		t.Fatal(err)
	}
	if err := dtype.Encode(format, blocks, x); err != nil {
		t.Fatal(err)
	}
	if err := dtype.DecodeFloat32(format, x, blocks); err != nil {
		t.Fatal(err)
	}
	if _, err := binary.Encode(data, binary.LittleEndian, x); err != nil {
		t.Fatal(err)
	}
}

// agree demands that two programs tell the same tokens up to one where both tokens are about as likely: the processor
// rounds activations to 8 bits, which changes logits by up to 3 % of the largest one.
func agree(t *testing.T, gpu, cpu []string) {
	t.Helper()
	got, want := e2etest.IDsOf(t, gpu), e2etest.IDsOf(t, cpu)
	for i := range got {
		if got[i] == want[i] {
			continue
		}
		var line e2etest.Generated
		if err := json.Unmarshal([]byte(gpu[i]), &line); err != nil {
			t.Fatal(err)
		}
		best, other := line.Logits[got[i]], line.Logits[want[i]]
		if best-other > 0.03*slices.Max(line.Logits) {
			t.Errorf("token %d is %d with %v, on the processor %d with %v", i, got[i], best, want[i], other)
		}
		return
	}
}

// told returns a line with id and logits for each of the tokens after a prompt.
func told(t *testing.T, prompt string, words []string) []string {
	t.Helper()
	const n = 24
	args := append(words, "--prompt", prompt, "-n", fmt.Sprint(n), "--json", "--logits", "--ignore-eos")
	lines := strings.Split(string(e2etest.Command{Args: args}.Run(t)), "\n")
	if len(lines) < n {
		t.Fatalf("%d lines, want %d tokens", len(lines), n)
	}
	return lines[:n]
}

// wantPlanes demands that a plan has at least least weights in planes; none if least is 0.
func wantPlanes(t *testing.T, build []string, least int) {
	t.Helper()
	n := 0
	for line := range strings.Lines(string(e2etest.GGMLC(t, slices.Concat([]string{"dump", "--after", "check"}, build)...))) {
		if strings.HasPrefix(line, "weight ") && strings.Contains(line, ".planar[") {
			n++
		}
	}
	if n < least || least == 0 && n > 0 {
		t.Errorf("%d weights are in planes, want %d or more", n, least)
	}
}

// sameLogits demands that two programs compute the same logits but for the order of additions, up to the first token
// that differs: it is one of two with equal logits within that, and what follows depends on it.
func sameLogits(t *testing.T, got, want []string) {
	t.Helper()
	for i := range got {
		var a, b e2etest.Generated
		if err := json.Unmarshal([]byte(got[i]), &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(want[i]), &b); err != nil {
			t.Fatal(err)
		}
		if len(a.Logits) == 0 || len(a.Logits) != len(b.Logits) {
			t.Fatalf("token %d has %d logits, want %d", i, len(a.Logits), len(b.Logits))
		}
		for k, x := range a.Logits {
			if !(math.Abs(x-b.Logits[k]) <= 1e-3*(1+math.Abs(b.Logits[k]))) {
				t.Fatalf("token %d, logit %d: %v, want %v", i, k, x, b.Logits[k])
			}
		}
		if *a.ID != *b.ID {
			return
		}
	}
}

// TestPlanesOnSimulatedGPUs runs the quantized model on a simulated GPU, which reports addresses that are not aligned,
// and reads beyond the weights.
func TestPlanesOnSimulatedGPUs(t *testing.T) {
	dir := t.TempDir()
	flags := []string{"--quantize", "Q4_0", "--ctx", "64"}
	onCPU := e2etest.BuildTo(t, filepath.Join(dir, "cpu"), nil, e2etest.AIDreams(t), flags...)
	onGPU := e2etest.BuildTo(t, filepath.Join(dir, "gpu"), nil, e2etest.AIDreams(t), append(flags, "--targets", "gpusim,cpu", "--deny", "cpu")...)
	tokens := e2etest.StoryTokens(5)
	got, want := e2etest.LogitsAfter(t, []string{onGPU}, tokens, gpuSimTokens), e2etest.LogitsAfter(t, []string{onCPU}, tokens, gpuSimTokens)
	if !slices.Equal(e2etest.IDsOf(t, got), e2etest.IDsOf(t, want)) {
		t.Errorf("%v, on the processor %v", e2etest.IDsOf(t, got), e2etest.IDsOf(t, want))
	}
}

// TestChosenExpertsInPlanesAreCopied runs a mixture of experts whose matrices are in memory of the host, in the planes
// that the GPU reads them in. The results are those with plain matrices.
func TestChosenExpertsInPlanesAreCopied(t *testing.T) {
	needVulkan(t)
	dir := t.TempDir()
	text := writeMoE(t, dir)
	quantized := strings.NewReplacer("f16[8,96,32] @host = m[\"up0\"]", "q4_0[8,96,32] @host = quantize(m[\"up0\"], q4_0)",
		"f32[8,32,96] @host = m[\"down1\"]", "q8_0[8,32,96] @host = quantize(m[\"down1\"], q8_0)").Replace(moeText())
	e2etest.WriteFile(t, text, []byte(quantized))
	targets := filepath.Join(dir, "machine.targets")
	e2etest.WriteFile(t, targets, []byte(strings.ReplaceAll(onVulkan, "\n", " link=1e9 linkdelay=1e-9\n")))
	flags := []string{text, "--target-file", targets, "--pin", ".*=vulkan"}
	wantPlanes(t, flags, 2)
	if dump := string(e2etest.GGMLC(t, append([]string{"dump", "--after", "check"}, flags...)...)); strings.Count(dump, "= copy_experts ") != 3*moeLayers {
		t.Errorf("not all experts are copied:\n%s", dump)
	}
	planes, plain := filepath.Join(dir, "planes"), filepath.Join(dir, "plain")
	e2etest.GGMLC(t, append([]string{"build", "-o", planes}, flags...)...)
	e2etest.GGMLC(t, append([]string{"build", "-o", plain, "--disable", "pack.cost"}, flags...)...)
	for n := 1; n <= 6; n++ {
		got, want := callMoE(t, planes, n), callMoE(t, plain, n)
		for k, x := range got {
			if !(math.Abs(float64(x-want[k])) <= 1e-4*(1+math.Abs(float64(want[k])))) {
				t.Fatalf("%d tokens: y[%d] = %v, with plain matrices %v", n, k, x, want[k])
			}
		}
	}
}
