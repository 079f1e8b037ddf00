package runtime

// groups returns how many groups the first n positions of a head take.
func (st *StateInfo) groups(n int) int {
	group := max(st.Group, 1)
	return (n + group - 1) / group
}

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

// byteRange is a range of bytes of the state arena.
type byteRange struct{ from, to int64 }

// rows returns the bytes of head h of a sequence that hold the positions [from, to), with the positions that share
// bytes with them. Of a ring it is all rows up to the last one in use.
func (st *StateInfo) rows(lm *LanguageModel, slot, h, from, to int) byteRange {
	each := st.groupBytes(lm)
	head := st.Offset + int64((slot*st.Heads+h)*st.groups(st.room(lm)))*each
	if st.Rows > 0 {
		from, to = 0, min(to, st.Rows)
	}
	return byteRange{head + int64(from/max(st.Group, 1))*each, head + int64(st.groups(to))*each}
}

// eachRow calls visit with the bytes that hold the positions [from, to) of a sequence, in the order of States and
// heads, until it returns an error.
func (lm *LanguageModel) eachRow(slot, from, to int, visit func(byteRange) error) error {
	for i := range lm.States {
		st := &lm.States[i]
		for h := range st.Heads {
			if err := visit(st.rows(lm, slot, h, from, to)); err != nil {
				return err
			}
		}
	}
	return nil
}

// rowBytes returns the number of bytes that eachRow visits.
func (lm *LanguageModel) rowBytes(from, to int) (n int64) {
	for i := range lm.States {
		at := lm.States[i].rows(lm, 0, 0, from, to)
		n += (at.to - at.from) * int64(lm.States[i].Heads)
	}
	return n
}

// copyRows copies the positions [from, to) of one sequence to another one. It returns false if states are in memory
// that is not the host's. The positions that share bytes with the first one have to be the same in both.
func (s *Session) copyRows(dst, src, from, to int) bool {
	lm := s.model.program.LM
	if lm.States == nil {
		return false
	}
	for i := range lm.States {
		st := &lm.States[i]
		for h := range st.Heads {
			to := to
			if st.Rows > 0 {
				to = lm.Context // the source may have gone back
			}
			a, b := st.rows(lm, dst, h, from, to), st.rows(lm, src, h, from, to)
			copy(s.state.bytes[a.from:a.to], s.state.bytes[b.from:b.to])
		}
	}
	return true
}
