package runtime

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// TestBenchSharesCountTheWorkOfEachStep: the share of the machine's peak that a prompt reaches counts what grows
// with its tokens and, for each step that it takes, what does not.
func TestBenchSharesCountTheWorkOfEachStep(t *testing.T) {
	lm := &LanguageModel{Batch: 8, PrefillOpsPerToken: 1e6, PrefillOpsPerStep: 5e6, DecodeBytes: 2e6}
	b := &benchCommand{cli: &cli{program: &Program{LM: lm}}, prompts: []int{20, 8}, depths: []int{0}}
	b.repeated = []benchRepeat{{
		prompts: []tally{{tokens: 20, took: time.Second}, {tokens: 40, took: time.Second}}, // the second one five times
		depths:  []tally{{tokens: 100, took: time.Second, gbs: 4}},
		gops:    10,
	}}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	p := b.promptRates()
	if !near(p[0].share, (20*1e6+3*5e6)/10e9) || !near(p[1].share, 5*(8*1e6+5e6)/10e9) {
		t.Errorf("shares %v and %v: 20 tokens are 3 steps of up to 8, 8 are one", p[0].share, p[1].share)
	}
	if !near(p[1].ratio.median, 2) || !near(p[1].rate, 40) || !near(p[0].limit, 10) {
		t.Errorf("%+v", p)
	}
	if d := b.depthRates(); !near(d[0].share, 100*2e6/4e9) || !near(d[0].rate, 100) {
		t.Errorf("%+v", d)
	}
}

// TestBenchTextNamesDepthsOnlyToTellThemApart expects the depth of generation in the lines after the first, which the
// heading covers.
func TestBenchTextNamesDepthsOnlyToTellThemApart(t *testing.T) {
	p := toyProgram()
	b := &benchCommand{cli: &cli{program: p}, prompts: []int{8}, depths: []int{7, 30}, n: 4, repeats: 3}
	m := &Model{pool: newPool(2, 0)}
	list := []contender{{size: 7, rate: 2, limit: 1}, {size: 30, rate: 1, limit: 1, ratio: figures{0.5, 0.4, 0.6}}}
	for i, want := range [][]string{{}, {", after 30, 0.50 (0.40 to 0.60) of the rate of generation after 7"}} {
		n := i + 1
		text := string(b.benchText(m, []contender{{size: 8}}, list[:n]))
		head, rest, _ := strings.Cut(text, "\n")
		if !strings.Contains(head, "2 threads, after 7 positions, medians of 3") || strings.Count(rest, ", after ") != len(want) {
			t.Errorf("%d depths:\n%s", n, text)
		}
		for _, line := range want {
			if !strings.Contains(rest, line) {
				t.Errorf("no %q in:\n%s", line, text)
			}
		}
	}
}

// TestBenchDefaultsAreThoseOfTheHelp runs bench without -r and -n, and compares with what bench -h states.
func TestBenchDefaultsAreThoseOfTheHelp(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: measures the machine")
	}
	_, help, _ := invoke(toyProgram(), "bench", "-h")
	_, text, _ := invoke(toyProgram(), "bench", "-p", "8", "--threads", "1")
	for flag, shown := range map[string]string{"-r": "medians of %s\n", "-d": "after %s positions"} {
		_, after, _ := strings.Cut(help, "  "+flag+" ")
		_, after, _ = strings.Cut(after, "(default: ")
		number, _, found := strings.Cut(after, ")")
		if want := fmt.Sprintf(shown, number); !found || !strings.Contains(text, want) {
			t.Errorf("%s: no %q in:\n%s", flag, want, text)
		}
	}
}
