package runtime

import (
	"context"
	"slices"
	"sync"
)

// Sessions is a set of sessions whose sequences share one state, one arena of activations, and steps: sessions that
// wait for a Decode at the same time run in one step, which reads the weights once for all of them. Each session is
// for one goroutine at a time; different sessions are for different goroutines. A session's tokens and logits are the
// same as those of a session of its own, bit for bit.
type Sessions struct {
	memory *Session // whose arenas, inputs and outputs the sessions use; it has no sequence of its own
	args   Args     // of memory, before its first step
	turn   queue    // admits one step at a time to memory
	joint  joint

	mu    sync.Mutex
	seats []*seat      // one for each sequence that the state has room for
	left  int          // counts the sessions that have been closed
	queue []*applicant // sessions that wait for a seat, in order
}

// seat is the place of one sequence in the state.
type seat struct {
	all    *Sessions
	slot   int
	owner  *Session // nil: free
	used   int      // when the last owner left: a count of such times
	past   *past
	ticket *ticket
	logits []float32 // of the owner's last step

	waiter
}

// NewSessions allocates memory for as many sequences as the program was compiled for (ggmlc build --sequences N).
func (m *Model) NewSessions() (*Sessions, error) {
	if m.program.LM == nil {
		return nil, inputError("%s is no language model: use NewSession", m.program.Name)
	}
	memory, err := m.NewSession()
	if err != nil {
		return nil, err
	}
	return newSessions(memory), nil
}

// newSessions returns the sessions that use the memory of a new session, which is not used otherwise.
func newSessions(memory *Session) *Sessions {
	lm := memory.model.program.LM
	memory.past = nil
	g := &Sessions{memory: memory, args: memory.args, seats: make([]*seat, lm.sequences())}
	for i := range g.seats {
		g.seats[i] = &seat{all: g, slot: i, past: newPast(lm), ticket: newTicket(), logits: make([]float32, lm.Vocab), waiter: newWaiter()}
	}
	g.joint.init(len(g.seats))
	return g
}

// Model returns the model that the sessions are of.
func (g *Sessions) Model() *Model { return g.memory.model }

// Limit returns how many sessions there may be at once.
func (g *Sessions) Limit() int { return len(g.seats) }

// NewSession returns a session with an empty sequence. While there are as many sessions as the state has room for, it
// waits for the Close of one, in the order of the calls. Close has to be called when the session is not needed any
// more.
func (g *Sessions) NewSession(ctx context.Context) (*Session, error) {
	m := g.memory.model
	if m.pool.queue.isClosed() {
		return nil, ErrClosed
	}
	w := &applicant{&Session{model: m, args: g.args, pending: make([]int32, 0, 1)}, make(chan struct{}, 1)}
	if g.apply(w) {
		return w.session, nil
	}
	select {
	case <-w.seated:
		return w.session, nil
	case <-ctx.Done():
		g.giveUp(w)
		return nil, cancelled(ctx)
	case <-m.closed:
		g.giveUp(w)
		return nil, ErrClosed
	}
}

// applicant is a session that waits for a seat.
type applicant struct {
	session *Session
	seated  chan struct{} // holds a token once the session has a seat
}

// apply gives a session the free seat that has not been used for the longest time, or a place in the queue. It returns
// whether it has a seat.
func (g *Sessions) apply(w *applicant) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	var free *seat
	for _, c := range g.seats {
		if c.owner == nil && (free == nil || c.used < free.used) {
			free = c
		}
	}
	if free == nil {
		g.queue = append(g.queue, w)
		return false
	}
	free.take(w.session)
	return true
}

// take makes s the owner of the seat.
func (c *seat) take(s *Session) {
	c.owner, s.seat, s.slot, s.past = s, c, c.slot, c.past
}

// giveUp ends a wait for a seat, and gives back one that has come in the meantime.
func (g *Sessions) giveUp(w *applicant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := slices.Index(g.queue, w); at >= 0 {
		g.queue = slices.Delete(g.queue, at, at+1)
		return
	}
	g.free(w.session.seat)
}

// free gives a seat to the first session in the queue, if there is one.
func (g *Sessions) free(c *seat) {
	g.left++
	c.owner, c.used = nil, g.left
	if len(g.queue) > 0 {
		w := g.queue[0]
		g.queue = slices.Delete(g.queue, 0, 1)
		c.take(w.session)
		w.seated <- struct{}{}
	}
}

// Close gives the place of a session of Sessions back. Later calls of the session return an error. A session with
// memory of its own need not be closed; Close does nothing there.
func (s *Session) Close() error {
	c := s.seat
	if c == nil {
		return nil
	}
	s.settle()
	if !s.busy.CompareAndSwap(false, true) {
		return ErrBusy
	}
	defer s.busy.Store(false)
	g := c.all
	g.joint.leave(c)
	g.mu.Lock()
	defer g.mu.Unlock()
	if c.owner == s {
		g.free(c)
	}
	return nil
}

// check refuses the calls of a session after its Close. The caller has reserved the session.
func (c *seat) check(s *Session) error {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	if c.owner != s {
		return inputError("the session was closed: open another one")
	}
	return nil
}

// prefill runs a prompt of s, one chunk at a time, so that the steps of other sessions run in between.
func (c *seat) prefill(ctx context.Context, s *Session, tokens []int32) ([]float32, error) {
	if err := c.check(s); err != nil {
		return nil, err
	}
	c.all.joint.leave(c)
	was := s.length
	for batch := s.model.program.LM.Batch; len(tokens) > 0; {
		n := min(len(tokens), batch)
		if err := c.chunk(ctx, s, s.model.prefill, tokens[:n]); err != nil {
			s.length = was
			c.cut(was)
			return nil, err
		}
		tokens = tokens[n:]
	}
	return c.logits, nil
}

// chunk runs one step of s alone when it is its turn.
func (c *seat) chunk(ctx context.Context, s *Session, d *driver, tokens []int32) error {
	g := c.all
	if err := g.turn.enter(ctx, c.ticket); err != nil {
		return err
	}
	defer g.turn.leave()
	return c.alone(ctx, s, d, tokens)
}

// alone runs one step of s. The caller has the turn.
func (c *seat) alone(ctx context.Context, s *Session, d *driver, tokens []int32) error {
	m := c.all.memory
	m.slot, m.length = c.slot, s.length
	logits, err := m.chunks(ctx, d, tokens, len(tokens))
	if err != nil {
		c.fail(s.length, len(tokens))
		return err
	}
	copy(c.logits, logits)
	c.put(s.length, tokens)
	s.length = m.length
	return nil
}

// put notes that tokens have been run at the end of the owner's first n positions.
func (c *seat) put(n int, tokens []int32) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.past.put(n, tokens)
}

// fail notes that a step which failed may have written n positions from position at on.
func (c *seat) fail(at, n int) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.past.fail(at, n)
}

// cut notes that the positions from n on are lost.
func (c *seat) cut(n int) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.past.cut(n)
}
