package runtime

import (
	"math"
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
