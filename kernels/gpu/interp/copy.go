package interp

// copies are the asynchronous copies of a thread that it has not waited for.
type copies struct {
	open   []copied   // since the last commit
	groups [][]copied // committed ones, the oldest first
}

// copied are elements of a shared array that a copy fills.
type copied struct {
	array, from, n int
}

// stepCopyAsync makes the copy at once, and lets no thread see the elements until the thread has waited. The address is
// in register a, the index in register b.
func stepCopyAsync(g *group, t *thread, in *inst) signal {
	data := g.device(t, in)
	if data == nil {
		return failed
	}
	s := &g.shared[in.shared]
	width := s.Elem.Bytes()
	c := copied{int(in.shared), int(int32(t.registers[in.b])), len(data) / width}
	if c.from*width%len(data) != 0 {
		return g.fail(t, in, Alignment, "element %d of %s is not at a multiple of %d bytes", c.from, s.Name, len(data))
	}
	for n := range c.n {
		if !g.touch(t, in, c.from+n, writes, g.access(t)) {
			return failed
		}
		for lane := range s.Elem.Lanes {
			s.lanesOf(c.from + n)[lane] = get(data[n*width+lane*s.Elem.Kind.Bytes():], s.Elem.Kind)
		}
		s.copied[c.from+n] = g.access(t)
	}
	t.copies.open = append(t.copies.open, c)
	return g.accessed()
}

func stepCopyCommit(_ *group, t *thread, _ *inst) signal {
	t.copies.groups = append(t.copies.groups, t.copies.open)
	t.copies.open = nil
	return proceed
}

// stepCopyWait lets the thread see all its groups but the last ones. For other threads the elements are written now.
func stepCopyWait(g *group, t *thread, in *inst) signal {
	groups := t.copies.groups
	done := max(len(groups)-int(in.of.Imm), 0)
	for _, group := range groups[:done] {
		for _, c := range group {
			s := &g.shared[c.array]
			for e := c.from; e < c.from+c.n; e++ {
				s.copied[e] = 0
				s.seen[writes][e] = s.seen[writes][e].with(g.access(t))
				g.stored(t, c.array, e)
			}
		}
	}
	t.copies.groups = groups[done:]
	return g.accessed()
}
