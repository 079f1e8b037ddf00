package runtime

import (
	"cmp"
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/runtime/sample"
)

// logSum returns the logarithm of the sum of exp(logit). The logarithm of a token's probability is its logit less that.
// The error is ErrNumerics if a logit is NaN or the largest is infinite.
func logSum(logits []float32) (float64, error) {
	best := float32(math.Inf(-1))
	for _, x := range logits {
		if x > best || x != x {
			best = x
		}
		if x != x {
			break
		}
	}
	if math.IsInf(float64(best), 0) || best != best {
		return 0, sample.ErrNumerics
	}
	sum := 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x) - float64(best))
	}
	return float64(best) + math.Log(sum), nil
}

// topIDs returns the n tokens with the largest logits, the most probable first. Of equal logits, the lowest id is
// first.
func topIDs(logits []float32, n int) []int32 {
	ids := make([]int32, len(logits))
	for i := range ids {
		ids[i] = int32(i)
	}
	slices.SortFunc(ids, func(a, b int32) int { return cmp.Or(cmp.Compare(logits[b], logits[a]), cmp.Compare(a, b)) })
	return ids[:min(n, len(ids))]
}
