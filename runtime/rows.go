package runtime

// group returns how many positions share bytes.
func (st *StateInfo) group() int { return int(st.Layout.Rows()) }

// groups returns how many groups the first n positions of a head take.
func (st *StateInfo) groups(n int) int { return (n + st.group() - 1) / st.group() }

// groupBytes returns the bytes of a group of positions of one head.
func (st *StateInfo) groupBytes(lm *LanguageModel) int64 {
	return st.Bytes / int64(lm.sequences()*st.Heads*st.groups(st.room(lm)))
}

// room returns how many rows a head has.
func (st *StateInfo) room(lm *LanguageModel) int {
	if st.Rows > 0 {
		return st.Rows
	}
	return lm.Context
}

// byteRuns are bytes of a state's chunk: count runs of n bytes, of which each begins stride bytes after the one before.
type byteRuns struct {
	from             int64
	count, n, stride int
}

func (r byteRuns) bytes() int { return r.count * r.n }

// runs returns the bytes that hold the positions [from, to) of a sequence, a run for each head, with the positions that
// share bytes with them. Of a ring it is all rows up to the last one in use. In a module that is no language model it
// is the whole state.
func (st *StateInfo) runs(p *Program, slot, from, to int) byteRuns {
	lm := p.LM
	if lm == nil {
		return byteRuns{from: st.Offset, count: 1, n: int(st.Bytes)}
	}
	each := st.groupBytes(lm)
	head := int64(st.groups(st.room(lm))) * each
	if st.Rows > 0 {
		from, to = 0, min(to, st.Rows)
	}
	first := from / st.group()
	return byteRuns{
		from: st.Offset + int64(slot*st.Heads)*head + int64(first)*each, count: st.Heads,
		n: int(int64(st.groups(to)-first) * each), stride: int(head),
	}
}

// rowBytes returns the number of bytes of all states that runs gives.
func (p *Program) rowBytes(from, to int) (n int64) {
	for i := range p.States {
		n += int64(p.States[i].runs(p, 0, from, to).bytes())
	}
	return n
}

// mover copies the bytes of states that runs gives to a buffer and back.
type mover struct {
	s     *Session // whose memory it is
	bytes []byte   // the buffer
	ferry *ferry   // nil without devices
}

// newMover returns a mover for the positions up to n.
func newMover(s *Session, n int) *mover {
	p := s.model.program
	most := 0
	for i := range p.States {
		most = max(most, p.States[i].runs(p, 0, 0, n).bytes())
	}
	m := &mover{s: s, bytes: newArena(int64(most)).bytes}
	if s.device != nil {
		m.ferry = s.device.ferry(hostMemory(m.bytes))
	}
	return m
}

// read returns the bytes of r, which are valid until the next call.
func (m *mover) read(st *StateInfo, r byteRuns) ([]byte, error) {
	b := m.bytes[:r.bytes()]
	if m.ferry == nil {
		from := m.s.state.bytes[r.from:]
		for i := range r.count {
			copy(b[i*r.n:(i+1)*r.n], from[i*r.stride:])
		}
		return b, nil
	}
	err := m.ferry.copy(m.buffer(0), Span{st.Memory, int(r.from)}, r.count, r.n, r.stride)
	if err == nil {
		err = m.ferry.wait()
	}
	return b, err
}

// buffer returns the place of the buffer's byte i.
func (m *mover) buffer(i int) Span { return Span{len(m.s.device.memories()), i} }

// write sets the bytes of r to those at the beginning of the buffer.
func (m *mover) write(st *StateInfo, r byteRuns) error {
	if m.ferry == nil {
		to := m.s.state.bytes[r.from:]
		for i := range r.count {
			copy(to[i*r.stride:], m.bytes[i*r.n:(i+1)*r.n])
		}
		return nil
	}
	for i := range r.count {
		if err := m.ferry.copy(Span{st.Memory, int(r.from) + i*r.stride}, m.buffer(i*r.n), 1, r.n, 0); err != nil {
			return err
		}
	}
	return m.ferry.wait()
}

// copyRows copies the positions [from, to) of sequence src of session other to sequence dst of s. Both are of one
// model, and may be the same. The positions that share bytes with the first one have to be the same in both.
func (s *Session) copyRows(dst int, other *Session, src, from, to int) error {
	p := s.model.program
	var f *ferry
	theirs := 0
	if s.device != nil {
		f = s.device.ferry()
		if other != s {
			f, theirs = s.device.ferry(other.device.memories()...), len(s.device.memories())
		}
	}
	for i := range p.States {
		st := &p.States[i]
		to := to
		if st.Rows > 0 {
			to = p.LM.Context // the source may have gone back
		}
		a, b := st.runs(p, dst, from, to), st.runs(p, src, from, to)
		for h := range a.count {
			x, y := int(a.from)+h*a.stride, int(b.from)+h*b.stride
			if f == nil {
				copy(s.state.bytes[x:x+a.n], other.state.bytes[y:])
			} else if err := f.copy(Span{st.Memory, x}, Span{theirs + st.Memory, y}, 1, a.n, 0); err != nil {
				return err
			}
		}
	}
	if f == nil {
		return nil
	}
	return f.wait()
}
