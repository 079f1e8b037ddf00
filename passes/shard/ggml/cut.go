package ggml

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// Cut divides n elements among devices by their shares, as llama.cpp does: devices in the order first, first+1, and so
// on; each piece ends at a multiple of the granule, and the last device has the rest.
func Cut(n int64, shares []float64, granule int64, first int) ([]int64, error) {
	sum := 0.0
	for i, s := range shares {
		if !(s >= 0) {
			return nil, fmt.Errorf("the share %g of device %d is negative: give each a number from 0 on", s, i)
		}
		sum += s
	}
	if !(sum > 0) {
		return nil, fmt.Errorf("the shares %v add up to nothing: give a device a share", shares)
	}
	counts := make([]int64, len(shares))
	before, begin := 0.0, int64(0)
	for i := range shares {
		device := (first + i) % len(shares)
		before += shares[device]
		end := int64(float64(n)*before/sum) / granule * granule
		if i == len(shares)-1 {
			end = n
		}
		counts[device] = end - begin
		begin = end
	}
	return counts, nil
}

// CutSegments divides each segment of an axis, whose repetitions have sizes[i] elements each.
func CutSegments(axis int, times, sizes, granules []int64, shares []float64, first int) (ir.Sharding, error) {
	s := ir.Sharding{Kind: ir.ShardSplit, Axis: axis}
	for i, n := range sizes {
		counts, err := Cut(n, shares, granules[i], first)
		if err != nil {
			return ir.Sharding{}, err
		}
		s.Segments = append(s.Segments, ir.Segment{Times: times[i], Counts: counts})
	}
	return s, nil
}
