package group

// gatedDeltaNet has heads in dimension 1 of queries, keys, values, gates and betas, and a state for each head of
// values. A head of values v has the head of queries and keys v modulo their number. Its result has a row for each
// token, with the heads' values, and after all rows the new states.
func gatedDeltaNet(s *step) ([]region, string) {
	axis, heads := s.axis(2)
	if axis != 1 {
		return nil, wrongHeads
	}
	for i := range 5 {
		a, spans := s.axis(i)
		if a != 1 || i >= 3 && !sameSpans(spans, heads) || !repeatsIn(spans, heads, s.Source(i).NE[1]) {
			return nil, wrongElements
		}
	}
	values := s.Source(2)
	size0, n := values.NE[0], values.NE[1]
	states := &layout{unit: size0 * size0, period: n, spans: heads}
	if c := s.arg(5); c.kind != parts || !c.layout.equal(states) {
		return nil, wrongElements
	}
	rows := &layout{unit: size0, period: n, spans: heads}
	end := values.Elems()
	first := region{end: end, at: make([]int64, len(heads)), content: content{kind: parts, layout: rows}}
	second := region{begin: end, end: s.Elems(), at: make([]int64, len(heads)), content: content{kind: parts, layout: states}}
	for j, spans := range heads {
		second.at[j] = end / n * size(spans)
	}
	return []region{first, second}, ""
}
