package mem

import "slices"

// instance is one connected part of a problem in the terms of the searches: time is cut
// into sections, between any two of which some buffer begins or ends. It is not changed
// once it is made.
type instance struct {
	blocks  []block
	meets   [][]int32 // by block: those live at the same time
	members [][]int32 // by section: the blocks that are live
	fixed   bool      // some block is
}

// block is a buffer whose life is sections [from, to).
type block struct {
	from, to    int32
	live        []int32 // the sections of its life that are no gaps
	size, align int64
	length      int64 // of its life, in the problem's time
	fixed       bool
	offset      int64 // if it is fixed
}

// newInstance prepares the buffers of p; all have a size above 0.
func newInstance(p Problem) *instance {
	times := make([]int64, 0, 2*len(p.Buffers))
	for _, b := range p.Buffers {
		times = append(times, b.Lower, b.Upper)
		for _, g := range b.Gaps {
			times = append(times, g.Lower, g.Upper)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)

	n := len(p.Buffers)
	in := &instance{blocks: make([]block, 0, n), meets: make([][]int32, n), members: make([][]int32, max(len(times)-1, 0))}
	for _, b := range p.Buffers {
		in.add(p, b, func(t int64) int32 {
			section, _ := slices.BinarySearch(times, t)
			return int32(section)
		})
	}
	return in
}

// add adds the next buffer of p.
func (in *instance) add(p Problem, b Buffer, section func(time int64) int32) {
	i, from, to := int32(len(in.blocks)), section(b.Lower), section(b.Upper)
	for j, c := range in.blocks {
		if from < c.to && c.from < to && b.meets(&p.Buffers[j]) {
			in.meets[i] = append(in.meets[i], int32(j))
			in.meets[j] = append(in.meets[j], i)
		}
	}
	k := block{from: from, to: to, size: b.Size, align: b.align(), length: b.Upper - b.Lower, fixed: b.Fixed, offset: b.Offset}
	for l := range b.live {
		for t := section(l.Lower); t < section(l.Upper); t++ {
			k.live = append(k.live, t)
			in.members[t] = append(in.members[t], i)
		}
	}
	in.blocks = append(in.blocks, k)
	in.fixed = in.fixed || k.fixed
}

func cloneLists(lists [][]int32) [][]int32 {
	out := make([][]int32, len(lists))
	for i, l := range lists {
		out[i] = slices.Clone(l)
	}
	return out
}
