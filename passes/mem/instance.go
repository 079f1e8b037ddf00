package mem

import "slices"

// instance is one connected part of a problem in the terms of the searches: time is cut
// into sections, between any two of which some buffer begins or ends. It is not changed
// once it is made.
type instance struct {
	blocks  []block
	meets   [][]int32 // by block: those live at the same time
	members [][]int32 // by section: the blocks that are live
}

// block is a buffer that is live in sections [from, to).
type block struct {
	from, to    int32
	size, align int64
	length      int64 // of its life, in the problem's time
}

// newInstance prepares the buffers of p; all have a size above 0.
func newInstance(p Problem) *instance {
	times := make([]int64, 0, 2*len(p.Buffers))
	for _, b := range p.Buffers {
		times = append(times, b.Lower, b.Upper)
	}
	slices.Sort(times)
	times = slices.Compact(times)

	n := len(p.Buffers)
	in := &instance{blocks: make([]block, 0, n), meets: make([][]int32, n), members: make([][]int32, max(len(times)-1, 0))}
	for _, b := range p.Buffers {
		from, _ := slices.BinarySearch(times, b.Lower)
		to, _ := slices.BinarySearch(times, b.Upper)
		in.add(block{int32(from), int32(to), b.Size, b.align(), b.Upper - b.Lower})
	}
	return in
}

func (in *instance) add(b block) {
	i := int32(len(in.blocks))
	for j, c := range in.blocks {
		if b.from < c.to && c.from < b.to {
			in.meets[i] = append(in.meets[i], int32(j))
			in.meets[j] = append(in.meets[j], i)
		}
	}
	for t := b.from; t < b.to; t++ {
		in.members[t] = append(in.members[t], i)
	}
	in.blocks = append(in.blocks, b)
}

func cloneLists(lists [][]int32) [][]int32 {
	out := make([][]int32, len(lists))
	for i, l := range lists {
		out[i] = slices.Clone(l)
	}
	return out
}
