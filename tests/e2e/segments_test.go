package e2e

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// longContext makes the context of aidreams260K so long that the attention of one token is divided into segments.
var longContext = []string{"--ctx", "8192"}

// TestLogitsDoNotDependOnSegments generates after prompts that end near the borders of segments. The bits of the
// logits do not depend on which worker computes a segment, on whether attention is divided, nor on whether a token is
// part of a prompt.
func TestLogitsDoNotDependOnSegments(t *testing.T) {
	model, dir := e2etest.AIDreams(t), t.TempDir()
	dump := filepath.Join(dir, "cut.ggir")
	e2etest.GGMLC(t, slices.Concat([]string{"dump", "--after", "check", "-o", dump}, longContext, []string{model})...)
	if !bytes.Contains(e2etest.ReadFile(t, dump), []byte("attention_segments")) {
		t.Fatal("no attention is cut")
	}
	cut := e2etest.Build(t, dump)
	whole := e2etest.Build(t, model, slices.Concat(longContext, []string{"--disable", "fuse-late.segments"})...)
	type run struct {
		name  string
		words []string
	}
	runs := []run{{"2 threads", []string{cut, "--threads", "2"}}, {"3 threads", []string{cut, "--threads", "3"}},
		{"16 threads", []string{cut, "--threads", "16"}}, {"not cut", []string{whole, "--threads", "2"}}}
	if needtest.Required("e2e") {
		runs = append(runs, run{"8 threads", []string{cut, "--threads", "8"}},
			run{"generic", []string{e2etest.BuildTo(t, filepath.Join(dir, "generic"), nil, model, slices.Concat(longContext, []string{"--cpu", "generic"})...), "--threads", "2"}},
			run{"on devices", []string{e2etest.BuildTo(t, filepath.Join(dir, "device"), nil, model, slices.Concat(longContext, []string{"--targets", "fake:0,cpu", "--pin", "blk.2.*=fake:0"})...), "--threads", "2"}})
	}
	for _, prompt := range []int{3, 505, 1019} {
		const n = 12
		tokens := e2etest.StoryTokens(prompt)
		want := e2etest.LogitsAfter(t, []string{cut, "--threads", "1"}, tokens, n)
		for _, r := range runs {
			got := e2etest.LogitsAfter(t, r.words, tokens, n)
			if r.name == "generic" {
				continue // other kernels round differently
			}
			if !slices.Equal(got, want) {
				t.Errorf("a prompt of %d tokens, %s: other logits than with one thread", prompt, r.name)
			}
		}
		last := e2etest.LogitsAfter(t, []string{cut}, append(tokens, e2etest.IDsOf(t, want[:n-1])...), 1)
		if last[0] != want[n-1] {
			t.Errorf("behind %d tokens: the last logits differ when the tokens before are a prompt", prompt+n-1)
		}
	}
}
