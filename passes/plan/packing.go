package plan

import (
	"context"
	"errors"
	"fmt"

	"github.com/ggmlc/ggmlc/passes/mem"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// packing has the chunk and the offset of each buffer of a problem.
type packing struct {
	chunk  []int // nil if there is one chunk
	offset []int64
	chunks []int64 // sizes
	height int64   // sum of the sizes
}

// at returns the place of buffer i.
func (p *packing) at(i int) (chunk int, offset int64) {
	if p.chunk == nil {
		return 0, p.offset[i]
	}
	return p.chunk[i], p.offset[i]
}

// packChunks packs buffers into one chunk, or into several if one would be larger than limit; 0 is no limit.
//
// For example, with a limit of 100 bytes two buffers of 60 that are live together do not fit into one chunk of 100:
// each gets a chunk of 60. If they are live one after the other, both have offset 0 of one chunk.
func packChunks(c *pass.Context, p mem.Problem, limit, steps int64) (packing, mem.Stats, error) {
	var out packing
	ctx, cancel := c.Ctx, func() {}
	if c.Options.PlanTime > 0 {
		ctx, cancel = context.WithTimeout(ctx, c.Options.PlanTime)
	}
	defer cancel()
	s, stats, err := mem.Solve(ctx, p, mem.Options{MaxSteps: steps})
	if err != nil {
		return out, stats, err
	}
	if limit == 0 || s.Height <= limit {
		out.offset, out.chunks, out.height = s.Offsets, []int64{s.Height}, s.Height
		return out, stats, nil
	}
	for _, b := range p.Buffers {
		if b.Size > limit {
			err = errors.Join(err, pass.TooLarge(fmt.Sprintf("%q", b.ID), b.Size, limit))
		}
	}
	if err == nil {
		out.chunk, out.offset, out.chunks = mem.Chunks(p, limit)
		for _, size := range out.chunks {
			out.height += size
		}
	}
	return out, stats, err
}
