package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/kernels/cpu"
)

// numeric draws the options that determine what is computed. The program for the CPU alone is made with the same
// ones.
func (s *subject) numeric(d draw) []string {
	var args []string
	if len(s.kvs) > 0 && d.oneIn(2) {
		args = append(args, "--kv", pick(d, s.kvs...))
	}
	if s.graph == nil && d.oneIn(6) {
		args = append(args, "--ctx", pick(d, "40", "63"))
	}
	if s.quantizes && d.oneIn(4) {
		args = append(args, "--quantize", pick(d, "Q8_0", "Q4_0", "Q5_1", "IQ4_NL"))
	}
	if d.oneIn(16) {
		args = append(args, "--cpu", pick(d, cpu.Available()...))
	}
	for _, r := range s.roundedBy(args) {
		if !d.oneIn(6) {
			args = append(args, "--disable", r.rule)
		}
	}
	return args
}

// rounding is a rule by which the choice of backends affects where numbers are rounded or in which order they are
// summed. bound is how far logits may differ then, as a share of the largest.
type rounding struct {
	rule  string
	bound float64
}

// roundedBy returns the rules that round differently under these options. Keys are packed for the kernels that read
// them. One of these kernels also rounds queries if keys are q8_0, and sums in another order if heads are no multiple
// of its vectors. Attention rounds to bf16 if the reader of its result, on the same backend, rounds to that anyway.
// Bounds are three times the differences of random models.
func (s *subject) roundedBy(numeric []string) []rounding {
	var rules []rounding
	switch {
	case s.graph != nil: // states and weights of all formats
		return []rounding{{"pack.state", 0.2}, {"fuse-late.attention-bf16", 0.2}}
	case slices.Contains(numeric, "q8_0") || slices.Contains(numeric, "q4_0"):
		rules = append(rules, rounding{"pack.state", 0.06})
	case s.oddHeads && !slices.Contains(numeric, "f32"):
		rules = append(rules, rounding{"pack.state", 0.002})
	}
	if s.roundsProducts(numeric) {
		rules = append(rules, rounding{"fuse-late.attention-bf16", 0.06})
	}
	return rules
}

// roundedByEdit returns the roundings that an edit of a dump's option lines makes differ from those of the reference:
// a rule is no longer disabled, or kernels of other processors sum in another order. Other options with an effect on
// numbers (kv, quantize, ctx) have been applied by the import, so their lines have no effect in a dump.
func (s *subject) roundedByEdit(numeric []string, before, after string) []rounding {
	was, is := optionLines(before), optionLines(after)
	var changed []rounding
	for _, r := range s.roundedBy(numeric) {
		if line := "option disable=" + r.rule; slices.Contains(was, line) && !slices.Contains(is, line) {
			changed = append(changed, r)
		}
	}
	if !slices.Equal(with("option cpu=", was), with("option cpu=", is)) {
		changed = append(changed, rounding{"cpu", s.kernelBound(numeric)})
	}
	return changed
}

// kernelBound returns how far logits may differ between kernels of different processors. Bounds are three times the
// differences of random models. A graph has rounding of all kinds, so its bound is that of its other rules.
func (s *subject) kernelBound(numeric []string) float64 {
	switch {
	case s.graph != nil:
		return 0.2
	case s.roundsProducts(numeric):
		return 0.12
	}
	return 0.0003
}

// foldBound is how far results may differ if constants are not folded: folding rounds once, kernels after each
// operation.
const foldBound = 1e-6

// roundsProducts reports whether products round their other operand. Slightly different values may then be rounded to
// different bytes.
func (s *subject) roundsProducts(numeric []string) bool {
	return s.rounds || slices.Contains(numeric, "--quantize")
}

// optionLines returns the sorted option lines of a text, each once.
func optionLines(text string) []string {
	lines := with("option ", strings.Split(text, "\n"))
	slices.Sort(lines)
	return slices.Compact(lines)
}

// with returns the lines that begin with a prefix.
func with(prefix string, lines []string) []string {
	var found []string
	for _, l := range lines {
		if strings.HasPrefix(l, prefix) {
			found = append(found, l)
		}
	}
	return found
}

// bound returns how far logits may be from those of the program for the CPU alone. 0 means that all bits have to be
// the same.
func (t *try) bound() float64 {
	bound := 0.0
	for _, r := range t.subject.roundedBy(t.numeric) {
		if !slices.Contains(t.numeric, r.rule) {
			bound = max(bound, r.bound)
		}
	}
	for _, r := range t.loosened {
		bound = max(bound, r.bound)
	}
	if t.subject.graph != nil && slices.Contains(t.planned, "fold") {
		bound = max(bound, foldBound)
	}
	if bound > 0 && t.subject.roundsProducts(t.numeric) {
		bound = max(bound, 0.06)
	}
	return bound
}

// planned draws options that determine how results are computed, not which.
func (s *subject) planned(d draw, m *machine) []string {
	var args []string
	if s.graph == nil && !d.oneIn(4) {
		args = append(args, "--batch", pick(d, "1", "2", "3", "4", "5", "7", "8", "16", "29"))
	}
	if d.oneIn(2) {
		args = append(args, "--rules", pick(d, "ggml-2024", "ggml-2026", "ggml-2026", "cost"))
	}
	if d.oneIn(2) {
		args = append(args, "--pipeline", pick(d, "2", "2", "3", "4"))
	}
	for _, pattern := range s.pins(d) {
		args = append(args, "--pin", pattern+"="+pick(d, m.names...))
	}
	if d.oneIn(8) {
		args = append(args, "--deny", pick(d, m.names...))
	}
	if d.oneIn(8) {
		args = append(args, "--max-memory", pick(d, append(m.names, m.spaces...)...)+"="+pick(d, "100kB", "300kB", "600kB", "1MB", "3MB"))
	}
	for d.oneIn(5) {
		args = append(args, "--disable", pick(d, disabled...))
	}
	if d.oneIn(16) {
		args = append(args, "--debug", "check=all")
	}
	return args
}

// disabled lists passes and rules that may be disabled without changing any bit of a result.
var disabled = []string{"inline", "fold", "cse", "dce", "narrow", "canonicalize", "fuse", "dce-fuse", "dce-late", "elide-copy", "dce-copy", "roll",
	"fuse.swiglu", "fuse.gate-up", "fuse.residual", "fuse.qkv", "fuse-late.norm", "fuse-late.segments", "canonicalize.order", "pack.cost"}

// pins draws expressions that match nodes or weights, none of them twice.
func (s *subject) pins(d draw) []string {
	var pins []string
	seen := make(map[string]bool)
	for n := pick(d, 0, 0, 1, 1, 2, 3, 4); n > 0; n-- {
		if p := s.pin(d); !seen[p] {
			pins, seen[p] = append(pins, p), true
		}
	}
	return pins
}

func (s *subject) pin(d draw) string {
	if s.graph != nil {
		return pick(d, `^v\d*`+strconv.Itoa(d.IntN(10))+`$`, `v`+strconv.Itoa(1+d.IntN(30)), `^w\d+$`, `^v[1-3]\d$`, `.*`)
	}
	layer := strconv.Itoa(d.IntN(s.layers))
	part := pick(d, "attn", "ffn", "attn_q", "attn_k", "ffn_down", "ffn_gate", "attn_output", "attn_norm", "ffn_up", "keys", "values", "")
	return pick(d,
		`blk\.`+layer+`\.`, `blk\.`+layer+`\..*`+part, `blk\..*`+part, `blk`, `blk\.[024]\.`, `blk\.[13]\.`, `output`, `output_norm`, `token_embd`, `rope`,
		fmt.Sprintf(`^v%d$`, 1+d.IntN(30*s.layers)), fmt.Sprintf(`^v\d*%d$`, d.IntN(10)), `.*`, `^v\d$`, part+".")
}
