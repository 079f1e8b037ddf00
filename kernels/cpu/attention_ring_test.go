package cpu_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
	kt "github.com/ggmlc/ggmlc/kernels/kerneltest"
)

// ringOf returns a with states that keep the last positions of each sequence up to those of its tokens.
func ringOf(a *attention, rows int, c attentionCase) *attention {
	ring := *a
	ring.ctx = rows
	last := make([]int, a.seqs)
	for i, p := range a.pos {
		last[a.slot[i]] = max(last[a.slot[i]], int(p))
	}
	turn := func(plain []byte, d int) []byte {
		row := c.cache.RowBytes(d)
		out := bytes.Repeat([]byte{0x11}, a.seqs*a.kvHeads*rows*row)
		for head := range a.seqs * a.kvHeads {
			end := last[head/a.kvHeads]
			for p := max(0, end+1-rows); p <= end; p++ {
				copy(out[(head*rows+p%rows)*row:][:row], plain[(head*a.ctx+p)*row:])
			}
		}
		return out
	}
	ring.k, ring.v = turn(a.k, a.dk), turn(a.v, a.dv)
	return &ring
}

// TestAttentionOfRings: attention over states that keep the last positions has the bits of attention over all
// positions, for prompts and single tokens whose windows cross the end of the rows, alone and in segments.
func TestAttentionOfRings(t *testing.T) {
	const rows, window = 2 * tile.ChunkLen, 100
	var prompt []int32
	for p := int32(970); p < 1040; p++ { // row 0 is that of position 1024
		prompt = append(prompt, p)
	}
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range segmentCases {
			for _, pos := range [][]int32{prompt, {1023}, {1024}, {1030}, {1140}, {60}, {1300, 1301, 1302}} {
				t.Run(fmt.Sprint(c, pos[0], len(pos)), func(t *testing.T) {
					a := longAttention(t, c.cache, 6, 2, 32, make([]int32, len(pos)), pos)
					a.window = window
					ring := ringOf(a, rows, c.attentionCase)
					want, got := kt.NewBuffer(len(pos)*a.heads*a.dv*4, 0), kt.NewBuffer(len(pos)*a.heads*a.dv*4, 0)
					a.whole(c.run, a.buffers(t, c.attentionCase), want, 0, len(pos))
					at := ring.buffers(t, c.attentionCase)
					ring.whole(c.run, at, got, 0, len(pos))
					kt.Same(t, "a ring", got, want)

					segments := tile.Segments(int(slices.Max(pos)) + 1)
					units, unit := segments*a.kvHeads, len(pos)*(a.heads/a.kvHeads)*(a.dv+2)*4
					sums := kt.NewBuffer(units*unit, 4)
					for u := range units {
						c.cut(sums.Pointer(), at.q.Pointer(), at.k.Pointer(), at.v.Pointer(), at.slot.Pointer(), at.pos.Pointer(), ring.shape(), len(pos), segments, u, u+1)
					}
					cpu.AttentionCombineF32(got.Pointer(), sums.Pointer(), nil, cpu.CombineShape{KVHeads: a.kvHeads, Group: a.heads / a.kvHeads, ValueLen: a.dv}, len(pos), segments, 0, len(pos), 0, a.heads)
					kt.Same(t, "segments of a ring", got, want)
				})
			}
		}
	})
}

// TestStateWriteOfRings: a prompt that crosses the end of the rows is where single tokens are.
func TestStateWriteOfRings(t *testing.T) {
	const heads, ctx, d, tokens = 3, tile.ChunkLen, 64, 70
	rng := kt.Rand(t)
	slots, pos := make([]int32, tokens), make([]int32, tokens)
	for i := range pos {
		pos[i] = int32(3*ctx - 40 + i)
	}
	kt.ForEach(t, func(t *testing.T) {
		for _, c := range stateWriters {
			x := kt.Uniform(rng, tokens*heads*d)
			plain, _ := kt.EncodeValues(t, c.d, x)
			row, old := c.d.Bytes(d), make([]byte, heads*ctx*c.d.Bytes(d))
			for i := range tokens {
				for h := range heads {
					copy(old[(h*ctx+int(pos[i])%ctx)*row:], plain[(i*heads+h)*row:][:row])
				}
			}
			stored := func(plain []byte) *kt.Buffer { return attentionCase{cache: c.d, packed: c.packed}.keys(plain, ctx, d) }
			got := stored(make([]byte, len(old)))
			c.f(got.Pointer(), kt.NewFloats(x, 0).Pointer(), kt.NewInts(slots...).Pointer(), kt.NewInts(pos...).Pointer(),
				cpu.StateShape{Heads: heads, Context: ctx, HeadLen: d}, 0, tokens, 0, heads)
			kt.Same(t, fmt.Sprint(c.d, " ring, packed ", c.packed), got, stored(old))
		}
	})
}
