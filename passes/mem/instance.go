package mem

import "slices"

// instance is one connected part of a problem as the searches see it. Time is cut into sections, between any two of
// which some buffer begins or ends. It is not changed after it is made.
//
// Buffers a = [0,50), b = [0,20) and c = [20,90) have sections [0,20), [20,50) and [50,90). Block a is sections 0 and
// 1, b is section 0, c is sections 1 and 2. Members are {a,b}, {a,c} and {c}; a meets b and c.
type instance struct {
	blocks  []block
	meets   [][]int32 // by block: the blocks that are live at the same time
	members [][]int32 // by section: the blocks that are live
	fixed   bool      // some block is fixed
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

// newInstance returns the instance of a problem. All buffers have a size above 0.
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

// add adds b, the next buffer of p. Section returns the section that begins at a time.
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

// cloneLists returns a deep copy.
func cloneLists(lists [][]int32) [][]int32 {
	out := make([][]int32, len(lists))
	for i, l := range lists {
		out[i] = slices.Clone(l)
	}
	return out
}
