package ir

// sharding parses a state.
func (p *parser) sharding() Sharding {
	switch {
	case p.accept("mirrored"):
		return Mirrored()
	case p.accept("partial"):
		return Partial()
	}
	p.expect("split")
	p.expect("(")
	s := Sharding{Kind: ShardSplit, Axis: p.natural()}
	for p.accept(",") {
		s.Segments = append(s.Segments, p.segment())
	}
	p.expect(")")
	return s
}

// segment parses counts, or a number of times and counts in parentheses.
func (p *parser) segment() Segment {
	first := p.size()
	if !p.accept("*") {
		return Segment{Times: 1, Counts: p.counts(first)}
	}
	p.expect("(")
	s := Segment{Times: first, Counts: p.counts(p.size())}
	p.expect(")")
	return s
}

// counts parses the numbers that follow a first one.
func (p *parser) counts(first int64) []int64 {
	list := []int64{first}
	for !p.bad && p.tok.kind == tokWord {
		list = append(list, p.size())
	}
	return list
}
