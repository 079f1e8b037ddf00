package runtime

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// savedMagic begins a saved sequence; its last byte is the version of this format.
const savedMagic = "ggmlcsq\x02"

// A saved sequence is
//
//	  0  magic "ggmlcsq", 2
//	  8  plan id, ASCII, padded with zeros to 64 bytes
//	 72  SHA-256 of the weights, 32 bytes
//	104  positions, u64
//	112  tokens that were generated and not run, u64: 0 or 1
//	120  bytes of the states, u64
//	128  the first position that is there in states that keep only the last ones, u64
//	136  tokens at the end that a grammar has followed, which continues after them, u64
//	144  ids of the positions and of the token that was not run, i32 each
//	     for each state and head the bytes of the positions, and of positions that share these bytes; of a ring the
//	     bytes of the rows in use; of a module that is no language model, which has no positions, all bytes of each
//	     state
//	     SHA-256 of all of the above, 32 bytes
//
// with integers little-endian. The layout of the states is that of the program, so only the same program reads it.
const savedHead = 144

// SavedError reports why a saved sequence cannot be loaded.
type SavedError struct {
	Why string // what is wrong and what to do
	Err error  // the reader's error, or nil
}

func (e *SavedError) Error() string {
	if e.Err != nil {
		return "saved sequence: " + e.Why + ": " + e.Err.Error()
	}
	return "saved sequence: " + e.Why
}

// Is makes errors.Is(err, ErrSaved) true.
func (e *SavedError) Is(target error) bool { return target == ErrSaved }

// Unwrap returns the reader's error.
func (e *SavedError) Unwrap() error { return e.Err }

func savedError(format string, args ...any) error {
	return &SavedError{Why: fmt.Sprintf(format, args...)}
}

// Save writes the sequence: its tokens and its part of the state. Load of the same program continues from it. Of a
// module that is no language model it writes all states. States in memory of devices are copied from there.
func (s *Session) Save(w io.Writer) error {
	if err := s.holdState(); err != nil {
		return err
	}
	defer s.busy.Store(false)
	if s.past != nil && len(s.past.ids) < s.length {
		return inputError("functions have been run one by one, or a state was written: the tokens of the sequence are not known")
	}
	if !s.past.has(s.length) { // after a prompt that was cancelled
		return s.past.lost(s.length)
	}
	sum := sha256.New()
	to := io.MultiWriter(w, sum)
	if _, err := to.Write(s.savedHead()); err != nil {
		return err
	}
	if err := s.saveStates(to); err != nil {
		return err
	}
	_, err := w.Write(sum.Sum(nil))
	return err
}

// saveStates writes the bytes of the states.
func (s *Session) saveStates(w io.Writer) error {
	p, m := s.model.program, newMover(s.memory(), s.length)
	for i := range p.States {
		st := &p.States[i]
		b, err := m.read(st, st.runs(p, s.slot, 0, s.length))
		if err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// holdState reserves the session for a call that reads or writes the bytes of its states.
func (s *Session) holdState() error {
	p := s.model.program
	if len(p.States) == 0 {
		return inputError("%s has no states: there is nothing to save or to copy", p.Name)
	}
	if err := p.statesBySequence(); err != nil {
		return err
	}
	if err := s.reserve(); err != nil {
		return err
	}
	if s.seat == nil {
		return nil
	}
	if err := s.seat.check(s); err != nil {
		s.busy.Store(false)
		return err
	}
	return nil
}

// memory returns the session that has the states of s.
func (s *Session) memory() *Session {
	if s.seat != nil {
		return s.seat.all.memory
	}
	return s
}

// savedHead returns what a saved sequence begins with, up to the states.
func (s *Session) savedHead() []byte {
	p := s.model.program
	b := make([]byte, 104, savedHead+4*(s.length+1))
	copy(b, savedMagic)
	copy(b[8:72], p.PlanID)
	hex.Decode(b[72:104], []byte(p.Weights.SHA256)) // made by the compiler; empty without weights
	b = binary.LittleEndian.AppendUint64(b, uint64(s.length))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(s.pending)))
	b = binary.LittleEndian.AppendUint64(b, uint64(p.rowBytes(0, s.length)))
	b = binary.LittleEndian.AppendUint64(b, uint64(s.past.lowest()))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(s.followed())))
	for _, ids := range [][]int32{s.past.first(s.length), s.pending} {
		b = append(b, raw(ids)...)
	}
	return b
}

// Load makes the session continue a sequence that Save has written, and reads no more than that. A *SavedError reports
// that the bytes are damaged, or of another program. After an error in the head the session is as it was, and after a
// later one it is empty.
func (s *Session) Load(r io.Reader) error {
	if err := s.holdState(); err != nil {
		return err
	}
	defer s.busy.Store(false)
	l := &loader{s: s, r: r, sum: sha256.New()}
	h, err := l.head()
	if err != nil {
		return err
	}
	s.length, s.pending = 0, s.pending[:0]
	s.lose()
	if err := l.rows(h.length); err != nil {
		s.zeroStates()
		return err
	}
	if s.past != nil {
		s.widen(h.length)
		s.regain(h.ids[:h.length], h.low)
	}
	s.length, s.pending = h.length, append(s.pending, h.ids[h.length:]...)
	s.grammar = followedEnd{h.followed, len(h.ids)}
	return nil
}

// lose notes that the state is overwritten.
func (s *Session) lose() {
	if s.seat != nil {
		s.seat.cut(0)
		return
	}
	s.past.cut(0)
}

// regain notes that the state has the given tokens, and in rings the positions from low on.
func (s *Session) regain(ids []int32, low int) {
	if s.seat != nil {
		s.seat.all.mu.Lock()
		defer s.seat.all.mu.Unlock()
	}
	s.past.put(0, ids)
	s.past.low = max(s.past.low, low)
}

// loader reads a saved sequence.
type loader struct {
	s   *Session
	r   io.Reader
	sum hash.Hash
}

// read fills b and adds it to the sum.
func (l *loader) read(b []byte) error {
	_, err := io.ReadFull(l.r, b)
	l.sum.Write(b)
	return readError(err)
}

// readError describes an error of io.ReadFull.
func readError(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return savedError("it ends too early: it was cut off")
	}
	return &SavedError{"it cannot be read", err}
}

// savedSequence is what a saved sequence has before its states.
type savedSequence struct {
	length   int     // positions
	low      int     // the first position that is there in rings
	ids      []int32 // of the positions, and of the token that was not run
	followed int     // tokens at the end that a grammar has followed
}

// head reads and checks what is before the states.
func (l *loader) head() (h savedSequence, err error) {
	p := l.s.model.program
	var b [savedHead]byte
	if err := l.read(b[:]); err != nil {
		return h, err
	}
	if err := p.checkSaved(b[:]); err != nil {
		return h, err
	}
	field := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	positions, pending, size, grammar := field(104), field(112), field(120), field(136)
	if positions > uint64(p.context()) || pending > min(1, uint64(p.context())) || grammar > positions+pending || size != uint64(p.rowBytes(0, int(positions))) {
		return h, savedError("%d positions, %d tokens to run and %d bytes of states are impossible: it is damaged", positions, pending, size)
	}
	h = savedSequence{length: int(positions), low: int(min(field(128), positions)), followed: int(grammar)}
	if h.low > 0 && (p.LM.Ring == nil || !(&past{ring: p.LM.Ring, low: h.low}).has(h.length)) {
		return h, savedError("%d positions cannot continue after those before %d: it is damaged", positions, h.low)
	}
	h.ids = make([]int32, positions+pending)
	if err := l.read(raw(h.ids)); err != nil {
		return h, err
	}
	for i, id := range h.ids {
		if id < 0 || int(id) >= p.LM.Vocab {
			return h, savedError("token %d is %d: ids are 0 to %d: it is damaged", i, id, p.LM.Vocab-1)
		}
	}
	return h, nil
}

// checkSaved checks that a saved sequence is one, and of this program.
func (p *Program) checkSaved(b []byte) error {
	if string(b[:7]) != savedMagic[:7] {
		return savedError("it does not begin as one does: give what Save or --save has written")
	}
	if b[7] != savedMagic[7] {
		return savedError("it has version %d of the format, this program reads version %d: save it again", b[7], savedMagic[7])
	}
	if plan := string(bytes.TrimRight(b[8:72], "\x00")); plan != p.PlanID {
		return savedError("it was saved by a program with plan %q, and this one has plan %q: use the program that saved it", plan, p.PlanID)
	}
	if sum := hex.EncodeToString(b[72:104]); p.Weights.SHA256 != "" && sum != p.Weights.SHA256 {
		return savedError("it was saved with weights of hash %s, and this program has %s: use the program that saved it", sum, p.Weights.SHA256)
	}
	return nil
}

// rows reads the states, and compares the sum of everything.
func (l *loader) rows(length int) error {
	p, m := l.s.model.program, newMover(l.s.memory(), length)
	for i := range p.States {
		st := &p.States[i]
		r := st.runs(p, l.s.slot, 0, length)
		if err := l.read(m.bytes[:r.bytes()]); err != nil {
			return err
		}
		if err := m.write(st, r); err != nil {
			return err
		}
	}
	var sum [sha256.Size]byte
	if _, err := io.ReadFull(l.r, sum[:]); err != nil {
		return readError(err)
	}
	if [sha256.Size]byte(l.sum.Sum(nil)) != sum {
		return savedError("its checksum is not that of its contents: it is damaged")
	}
	return nil
}
