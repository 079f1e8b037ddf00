package runtime

import (
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/runtime/sample"
)

// TestSamplingFlagsReachTheSampler has an answer for each flag that the flag alone explains. Without flags the toy says
// "héc"; its second best token is always the highest id, z with 31.
func TestSamplingFlagsReachTheSampler(t *testing.T) {
	for _, tt := range []struct {
		args, want string
	}{
		{"", "héc"},
		{"--logit-bias 13-inf -n 1", "z"},
		{"--logit-bias 13-9 --logit-bias 20+3 -n 1", "o"},
		{"--presence-penalty 9 --ignore-eos -n 8 --logit-bias 2-99", "héczyxw"}, // each token once
		{"--frequency-penalty 0.02 --ignore-eos -n 8 --logit-bias 2-99 --logit-bias 13-99 --logit-bias 4-99 --logit-bias 3-99 --logit-bias 8-99", "zyzxyzwx"},
		{"--repeat-penalty 1000 --repeat-last-n 2 --ignore-eos -n 8 --logit-bias 2-99", "héczyxz"},
		{"--dry-multiplier 5 --dry-allowed-length 1 --ignore-eos -n 9 --logit-bias 2-99", "héczzyzx"},
		{"--xtc-probability 1 --xtc-threshold 0 -n 1", "h"}, // nothing else has a tenth
		{"--xtc-probability 1 --xtc-threshold 0.00015 --min-p 0 --top-p 1 -n 1", "i"}, // e^(14/64) of 8143 is above it
		{"--temp 1 --top-nsigma 1 --seed 5 -n 3", "hé"},
		{"--temp 1000 --top-nsigma 1 --top-k 0 --min-p 0 --top-p 1 --seed 5 -n 3", "hé"},
		{"--temp 1 --typical 0.5 --top-k 0 --min-p 0 --top-p 1 --seed 5 -n 3", "hé"},
		{"--dynatemp-range 0.01 --dynatemp-exp 3 --seed 5 -n 3", "hé"},
		{"--temp 1 --mirostat 2 --mirostat-ent 0.001 --mirostat-lr 1 --seed 5 -n 3", "hé"},
	} {
		args := append([]string{"--prompt", "a", "--threads", "1"}, strings.Fields(tt.args)...)
		if status, out, errs := invoke(hello(t), args...); status != 0 || out != tt.want {
			t.Errorf("%s: status %d, %q, want %q\n%s", tt.args, status, out, tt.want, errs)
		}
	}
}

func TestBreakersAreTokensThatEndRepetitions(t *testing.T) {
	p := toyProgram()
	p.Tokenizer = toyTokenizer(t)
	_, s := openProgram(t, p, Options{Threads: 1})
	got := s.Breakers("b", "cab")
	want := []sample.Breaker{{Head: 7}, {Head: 8, Tail: s.encode("ab")[1:]}} // b; c and then a b
	if !slices.EqualFunc(got, want, func(a, b sample.Breaker) bool { return a.Head == b.Head && slices.Equal(a.Tail, b.Tail) }) {
		t.Errorf("%v, want %v", got, want)
	}
}
