package ir

// sharding parses a state.
func (p *parser) sharding() Sharding {
	switch {
	case p.accept("mirrored"):
		return Mirrored()
	case p.accept("partial"):
		return Partial()
	}
	if p.accept("held") {
		p.expect("(")
		s := Sharding{Kind: ShardHeld, Segments: []Segment{{Times: 1, Counts: p.counts(p.size())}}}
		p.expect(")")
		return s
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
		return p.counted(1, first)
	}
	p.expect("(")
	s := p.counted(first, p.size())
	p.expect(")")
	return s
}

// counted parses what follows the first count of a segment.
func (p *parser) counted(times, first int64) Segment {
	s := Segment{Times: times, Counts: p.counts(first)}
	if p.accept("at") {
		s.Starts = p.counts(p.size())
	}
	return s
}

// counts parses the numbers that follow a first one.
func (p *parser) counts(first int64) []int64 {
	list := []int64{first}
	for !p.bad && p.tok.kind == tokWord && p.tok.text != "at" {
		list = append(list, p.size())
	}
	return list
}

// parts parses what the devices of a group have of a value, after the keyword.
func (p *parser) parts() {
	x := Parts{Of: p.str("the name of a value in quotes"), State: p.sharding()}
	p.expect("[")
	p.list(func() { x.Names = append(x.Names, p.str("the name of a value in quotes, or an empty one")) })
	p.expect("]")
	if !p.bad {
		p.f.Parts = append(p.f.Parts, x)
	}
}
