// Package accuracy compares what emitted programs compute with exact arithmetic: random
// models of many shapes, all weight formats, all kinds of KV cache, every implementation
// of the kernels and several thread counts.
package accuracy

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// tolerance is the error that all rows of a weight format together may have, as a share of
// the logits' range: that of llama.cpp (peers.md, Rounding), which rounds activations to 8
// bits where weights are quantized and to BF16 where they are that. It is given to one digit
// there, 0.002, 0.003 and 0.0005, hence the half unit here. For F16 it is twice llama.cpp's
// 0.00007. F32 has no counterpart there.
var tolerance = map[string]float64{
	"f32": 0.00002, "f16": 0.00014, "bf16": 0.00055, "f16-as-bf16": 0.00055,
	"q8_0": 0.0025, "q4_0": 0.0025, "f32-to-q8_0": 0.0025, "f16-to-q4_0": 0.0025, "f16-q8_0": 0.0025,
	"q4_1": 0.0025, "q5_0": 0.0025, "q5_1": 0.0025, "iq4_nl": 0.0025, "mxfp4": 0.0025,
	"q4_0-q6_k": 0.0035, "q4_k-q6_k": 0.0035, "q5_k": 0.0035, "q3_k": 0.0035, "q2_k": 0.0035, "iq4_xs": 0.0035,
	"iq2_xxs": 0.0035, "iq1_m-q5_k": 0.0035, "iq3_xxs": 0.0035, "iq3_s-q6_k": 0.0035, "tq1_0": 0.0035,
}

// queries is what a KV cache of q8_0 adds to the tolerance of float weights because queries are rounded to bytes, as
// ggml does (ggml-cpu/ops.cpp, ggml_compute_forward_flash_attn_ext: q goes to the vec_dot_type of k, for Q8_0 that is
// Q8_0); the reference does not round them. Measured on 2026-11-21: 0.00037 with f32 weights, 0.00044 with f16. With
// quantized weights it is 0.00225 instead of 0.0022 (q8_0), 0.00224 instead of 0.00215 (q4_0).
const queries = 0.0004

// flip is what a KV cache of q8_0 adds to the tolerance of float weights: where a last bit
// of a sum decides which way a key is rounded, it moves by 1/127 of its block.
const flip = 0.0001

// flipBF16 is that with activations of bf16: a key that is off by e moves by a whole step s of
// 1/127 with probability e/s, which adds e·s to the mean square where e² was. Keys are off by
// some 2^-9, a quarter of a step.
const flipBF16 = 0.0003

// A KV cache of q4_0 has steps of 1/8 of a block's largest element, so that as rarely keys and values move, they move
// much farther: what is added to the tolerance grows with the square root of the error that they had before. Measured
// on 2026-11-23 as rms of all: 0.00064 with f32 weights, 0.0013 with f16, 0.0028 with bf16, 0.0064 with q8_0.
const (
	flipNibble      = 0.0014
	flipNibbleBF16  = 0.0025
	flipNibbleBytes = 0.0045
)

// fewLogitsSlack is how much narrower the range of 17 logits is than that of 512, of which
// errors are a share: 3.6 against 6.1 standard deviations, if they are normal.
const fewLogitsSlack = 1.7

// fewLogits reports whether a model with rounded activations has far fewer logits than those
// of peers.md. Only float formats have such models.
func (r *random) fewLogits() bool { return r.roundsBF16() && r.vocab < 64 }

// roundsBF16 reports whether products read activations of bf16.
func (r *random) roundsBF16() bool {
	return r.bf16 || r.stored == dtype.BF16 && r.quantize == dtype.Invalid
}

// The figures of peers.md are means of many: one model may be worse than all of a format
// together, and one row of logits worse than its model.
const (
	modelSlack = 1.5
	rowSlack   = 3
)

func TestErrorsAreWithinTolerance(t *testing.T) {
	set := models()
	dir := t.TempDir()
	for i, r := range set {
		r.write(t, dir, i)
	}
	compiled := compileAll(t, dir, set)
	exe := buildRunner(t, dir, "runner", len(set))
	var total totals
	t.Run("models", func(t *testing.T) {
		for i, r := range set {
			t.Run(r.String(), func(t *testing.T) { check(t, exe, i, r, compiled[i], &total) })
		}
	})
	total.check(t)
	if full() {
		t.Run("purego", func(t *testing.T) { checkPureGo(t, dir, exe, set) })
	}
}

// full reports whether the large set is asked for.
func full() bool { return needtest.Required("accuracy") }

// models are all formats, shapes and KV caches in the large set, and a fair sample otherwise.
func models() []*random {
	var all []*random
	for f, format := range formats {
		for s, shape := range shapes {
			for k, kv := range kvs {
				r := &random{shape: shape, format: format, kv: kv, seed: uint64(f*100 + s)}
				if r.possible() && (full() || r.sampled(f, s, k)) {
					all = append(all, r)
				}
			}
		}
	}
	if testing.Short() {
		return all[:1]
	}
	return all
}

// sample picks the shapes for each kind of KV cache in the small set.
var sample = []int{0, 2, 7, 5}

// sampled reports whether the small set has the model of the format, shape and KV cache with these indexes. Formats
// with a scheme share all but the reading of their blocks: one model each, of the shape whose rows blocks of 256
// divide.
func (r *random) sampled(format, shape, kv int) bool {
	if r.inBlocks() {
		return r.kv == dtype.F16
	}
	return (format+shape)%len(shapes) == sample[kv]
}

// tokensOf returns the ids that a model is run on.
func tokensOf(r *random) []int32 {
	rng := rand.New(rand.NewPCG(r.seed, 5))
	n := r.tokens
	if n == 0 {
		n = 40
	}
	tokens := make([]int32, min(r.ctx, n))
	for i := range tokens {
		tokens[i] = int32(rng.IntN(r.vocab))
	}
	return tokens
}

// prefills are the lengths of prompts, around the batch and of several batches. Sixteen
// tokens and more are left to decode after the last one.
func prefills(r *random, tokens int) []int {
	list := []int{1, 2, r.batch, r.batch + 1, 2*r.batch + 3, tokens - 16}
	list = slices.DeleteFunc(list, func(n int) bool { return n > tokens-16 })
	slices.Sort(list)
	return slices.Compact(list)
}

// check compares everything that a model computes with the reference.
func check(t *testing.T, exe string, index int, r *random, c compiled, total *totals) {
	t.Parallel()
	tokens := tokensOf(r)
	want, err := r.reference(c.imported, tokens)
	if err != nil {
		t.Fatal(err)
	}
	checkPrefillReference(t, r, c, tokens, want)
	jobs := jobsOf(index, r, tokens)
	results := runJobs(t, exe, jobs)
	single := make(map[string][]Row) // of one thread, by implementation
	for _, res := range results {
		name := fmt.Sprintf("%s, %d threads", res.Job.Impl, res.Job.Threads)
		if res.Err != "" {
			t.Errorf("%s: %s", name, res.Err)
			continue
		}
		if res.Job.Threads == 1 {
			single[res.Job.Impl] = res.Rows
			total.add(r, checkRows(t, name, res.Rows, want, r.tolerance()), len(res.Rows))
			continue
		}
		checkSame(t, name, res.Rows, single[res.Job.Impl])
	}
}

// jobsOf runs every implementation with every thread count, one thread first.
func jobsOf(index int, r *random, tokens []int32) []Job {
	var jobs []Job
	for _, impl := range cpu.Available() {
		for _, threads := range []int{1, 2, 3, 7} {
			jobs = append(jobs, Job{Model: index, Impl: impl, Threads: threads, Tokens: tokens, Prefills: prefills(r, len(tokens))})
		}
	}
	return jobs
}

// checkPrefillReference checks that the two functions of the module mean the same. With a
// rounding KV cache a last bit of the sums may move what is stored by a unit.
func checkPrefillReference(t *testing.T, r *random, c compiled, tokens []int32, want [][]float64) {
	t.Helper()
	n := r.batch
	got, err := r.referencePrefill(c.imported, tokens[:n])
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range want[n-1] {
		if math.Abs(got[i]-w) > 1e-9 && r.kv == dtype.F32 || math.Abs(got[i]-w) > 1e-2 {
			t.Fatalf("prefill in float64 gives logit %d = %g, decode %g", i, got[i], w)
		}
	}
}

// tolerance is that of the format and the KV cache together.
func (r *random) tolerance() float64 {
	tol := tolerance[r.format.name]
	if r.quantize != dtype.Invalid && r.quantized() == 0 {
		tol = tolerance[r.stored.String()]
	}
	if r.fewLogits() {
		tol *= fewLogitsSlack
	}
	switch {
	case r.kv == dtype.Q4_0:
		tol += r.flipNibble()
	case r.kv != dtype.Q8_0:
	case r.roundsBF16():
		tol += flipBF16
	case r.stored.IsFloat() && r.quantized() == 0:
		tol += flip + queries
	}
	return tol
}

// flipNibble is what a cache of q4_0 adds to the tolerance.
func (r *random) flipNibble() float64 {
	switch {
	case r.roundsBF16():
		return flipNibbleBF16
	case r.stored.IsFloat() && r.quantized() == 0:
		return flipNibble
	}
	return flipNibbleBytes
}

// checkRows compares rows with the reference and returns the sum of the squares of their
// deviations.
func checkRows(t *testing.T, name string, rows []Row, want [][]float64, tol float64) (sum float64) {
	t.Helper()
	var worst float64
	for _, row := range rows {
		d := deviation(row.Logits, want[row.Position])
		if !(d <= rowSlack*tol) {
			t.Errorf("%s: prompt of %d, position %d: %.6f of the range away from exact arithmetic; %.6f is allowed in a row",
				name, row.Prefill, row.Position, d, rowSlack*tol)
		}
		sum, worst = sum+d*d, max(worst, d)
	}
	rms := math.Sqrt(sum / float64(len(rows)))
	t.Logf("%s: rms %.7f of the range, worst row %.7f", name, rms, worst)
	if !(rms <= modelSlack*tol) {
		t.Errorf("%s: %.6f of the range away from exact arithmetic (rms of %d rows); %.6f is allowed", name, rms, len(rows), modelSlack*tol)
	}
	return sum
}

// checkSame checks that rows are equal bit for bit to those of one thread.
func checkSame(t *testing.T, name string, rows, single []Row) {
	t.Helper()
	if len(rows) != len(single) {
		t.Errorf("%s: %d rows, with one thread %d", name, len(rows), len(single))
		return
	}
	for i, row := range rows {
		for j, x := range row.Logits {
			if math.Float32bits(x) != math.Float32bits(single[i].Logits[j]) {
				t.Errorf("%s: prompt of %d, position %d: logit %d is %g, with one thread %g", name, row.Prefill, row.Position, j, x, single[i].Logits[j])
				break
			}
		}
	}
}
