package gpu

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
)

// TestQuantizedModelsOnVulkan runs the model with weights of q4_0 and q8_0, which GPUs read in planes. It computes the
// tokens that the processor computes, which has the weights in panels, for most prompts, and the logits of a program with
// plain weights. How many prompts that are depends on the processor: 5 or 6 on AMD's, 4 on a Cascade Lake. Where tokens
// differ, agree says whether they may.
func TestQuantizedModelsOnVulkan(t *testing.T) {
	needVulkan(t)
	for _, format := range []string{"Q4_0", "Q8_0"} {
		t.Run(format, func(t *testing.T) {
			dir := t.TempDir()
			quantize := []string{"--quantize", format, "--ctx", "256", "--batch", "16"}
			gpu := slices.Concat(quantize, []string{"--targets", "vulkan,cpu", "--deny", "cpu"})
			plain := slices.Concat(gpu, []string{"--disable", "pack.cost"})
			wantPlanes(t, slices.Concat([]string{e2etest.AIDreams(t)}, gpu), 24)
			wantPlanes(t, slices.Concat([]string{e2etest.AIDreams(t)}, plain), 0)
			onCPU := e2etest.BuildTo(t, filepath.Join(dir, "cpu"), nil, e2etest.AIDreams(t), quantize...)
			onGPU := e2etest.BuildTo(t, filepath.Join(dir, "gpu"), nil, e2etest.AIDreams(t), gpu...)
			onPlain := e2etest.BuildTo(t, filepath.Join(dir, "plain"), nil, e2etest.AIDreams(t), plain...)
			same, refs := 0, e2etest.AIDreamsReferences(t)
			for _, ref := range refs {
				got := told(t, ref.Prompt, append([]string{onGPU}, patient...))
				if agree(t, got, told(t, ref.Prompt, []string{onCPU})) {
					same++
				}
				sameLogits(t, got, told(t, ref.Prompt, append([]string{onPlain}, patient...)))
			}
			if same <= len(refs)/2 {
				t.Errorf("the tokens of %d of %d prompts are the processor's", same, len(refs))
			}
		})
	}
}

// agree reports whether two programs tell the same tokens. Where they first do not, both tokens have to be about as
// likely: the processor rounds activations to 8 bits, which changes logits by up to 3 % of the largest one.
func agree(t *testing.T, gpu, cpu []string) bool {
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
		return false
	}
	return true
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
			t.Fatalf("token %d has %d logits, with plain weights %d", i, len(a.Logits), len(b.Logits))
		}
		for k, x := range a.Logits {
			if !(math.Abs(x-b.Logits[k]) <= 1e-3*(1+math.Abs(b.Logits[k]))) {
				t.Fatalf("token %d, logit %d: %v, with plain weights %v", i, k, x, b.Logits[k])
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
