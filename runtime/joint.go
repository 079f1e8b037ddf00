package runtime

import (
	"context"
	goruntime "runtime"
	"slices"
	"sync"
	"time"
)

// joint gathers sessions that wait for a Decode and runs them in one step. There is no goroutine for it: the first
// session that waits leads the step. It waits for its turn, then for the sessions of the step before, which usually
// choose their next token in the meantime, and takes all waiting sessions. The others get their results from it.
//
//	A  Decode ─ leads ─ step{A,B,C} ─ choose ─ Decode ─────────── step{B,C,A} …
//	B  Decode ───────── step{A,B,C} ─ choose ─ Decode ─ leads ─── step{B,C,A} …
//	C     Decode ────── step{A,B,C} ─ choose ───── Decode ─────── step{B,C,A} …
//
// A session that does not come back in time is not waited for again before it takes part in another step.
type joint struct {
	mu      sync.Mutex
	waiting []*Session // for the next step, the first one leads it
	next    []*Session // memory for waiting while a step runs
	round   int        // counts the times that sessions were awaited
	awaited int        // sessions of the last step that have not come back

	all      chan struct{} // holds a token once awaited has become 0
	timer    *time.Timer
	patience time.Duration // the least time for which a step waits for awaited sessions
	took     time.Duration // of the last step
}

// waiter is a session's part of joint.
type waiter struct {
	token int32
	round int // it is awaited if this is the round of joint, and not 0
	told  chan verdict
	err   error
}

// verdict is what a waiting session is told.
type verdict bool

const (
	finished verdict = false // its step has ended
	leads    verdict = true  // the session that led has left
)

func newWaiter() waiter { return waiter{told: make(chan verdict, 1)} }

// leastPatience is the least time for which steps wait for the sessions of the step before. Choosing a token from a
// large vocabulary takes up to a millisecond.
const leastPatience = 2 * time.Millisecond

// init prepares for n sessions.
func (j *joint) init(n int) {
	j.waiting, j.next = make([]*Session, 0, n), make([]*Session, 0, n)
	j.all = make(chan struct{}, 1)
	j.patience = leastPatience
	j.timer = time.NewTimer(time.Hour)
	j.timer.Stop()
}

// decode appends a token to the sequence of s, in a step with other sessions if some wait.
func (c *seat) decode(ctx context.Context, s *Session, token int32) ([]float32, error) {
	if err := c.check(s); err != nil {
		return nil, err
	}
	g := c.all
	c.token = token
	if err := g.wait(ctx, s, g.joint.enlist(s)); err != nil {
		return nil, err
	}
	return c.logits, nil
}

// enlist adds s to the sessions of the next step. It returns whether s leads it.
func (j *joint) enlist(s *Session) verdict {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.returned(s.seat)
	j.waiting = append(j.waiting, s)
	return len(j.waiting) == 1
}

// returned notes that a session of the last step is not awaited any more.
func (j *joint) returned(c *seat) {
	if c.round == 0 || c.round != j.round {
		return
	}
	c.round = 0
	if j.awaited--; j.awaited == 0 {
		select {
		case j.all <- struct{}{}:
		default:
		}
	}
}

// leave notes that no Decode of s follows soon: steps of other sessions do not wait for it.
func (s *Session) leave() {
	if s.seat != nil {
		s.seat.all.joint.leave(s.seat)
	}
}

// leave notes that no Decode of c follows soon.
func (j *joint) leave(c *seat) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.returned(c)
}

// wait returns when the step of s has ended.
func (g *Sessions) wait(ctx context.Context, s *Session, v verdict) error {
	c := s.seat
	for {
		if v == leads {
			return g.lead(ctx, s)
		}
		select {
		case v = <-c.told:
			if v == finished {
				return c.err
			}
		case <-ctx.Done():
			if g.joint.withdraw(s) {
				select { // the lead, which withdraw has handed on
				case <-c.told:
				default:
				}
				return cancelled(ctx)
			}
			if v = <-c.told; v == finished { // the step has begun; it is short
				return c.err
			}
		}
	}
}

// withdraw removes s from the next step, and returns whether it was still in it. If it led, the next session leads.
func (j *joint) withdraw(s *Session) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	at := slices.Index(j.waiting, s)
	if at < 0 {
		return false
	}
	j.waiting = slices.Delete(j.waiting, at, at+1)
	if at == 0 && len(j.waiting) > 0 {
		j.waiting[0].seat.told <- leads
	}
	return true
}

// lead runs the next step.
func (g *Sessions) lead(ctx context.Context, s *Session) error {
	if err := g.turn.enter(ctx, s.seat.ticket); err != nil {
		g.joint.withdraw(s)
		return err
	}
	defer g.turn.leave()
	g.joint.gather(ctx)
	who := g.joint.take()
	begin := time.Now()
	err := g.step(ctx, who)
	g.joint.settle(who, s, err, time.Since(begin))
	return err
}

// gather returns when all sessions of the last step are back, or when that takes too long. Then it lets other
// goroutines run: where steps use all processors, sessions that are ready to begin would get one only when the
// scheduler takes it away from sessions that wake each other for step after step, after ten milliseconds.
func (j *joint) gather(ctx context.Context) {
	j.mu.Lock()
	missing, patience := j.awaited, max(j.patience, j.took/4)
	if missing > 0 {
		select { // a token of earlier
		case <-j.all:
		default:
		}
	}
	j.mu.Unlock()
	if missing > 0 {
		j.await(ctx, patience)
	}
	goruntime.Gosched()
}

// await returns when no session of the last step is missing, or after some time.
func (j *joint) await(ctx context.Context, patience time.Duration) {
	j.timer.Reset(patience)
	defer j.timer.Stop()
	select {
	case <-j.all:
	case <-j.timer.C:
	case <-ctx.Done():
	}
}

// take returns the sessions of the next step. Sessions that come later take part in the step after it.
func (j *joint) take() []*Session {
	j.mu.Lock()
	defer j.mu.Unlock()
	who := j.waiting
	j.waiting, j.next = j.next[:0], who
	j.round, j.awaited = j.round+1, 0
	return who
}

// settle tells the sessions of a step that it has ended. They are awaited for the next one.
func (j *joint) settle(who []*Session, leader *Session, err error, took time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.took = took
	j.round, j.awaited = j.round+1, len(who)
	for _, s := range who {
		c := s.seat
		c.round, c.err = j.round, err
		if s != leader {
			c.told <- finished
		}
	}
}

// step runs one step of all given sessions. The caller has the turn.
func (g *Sessions) step(ctx context.Context, who []*Session) error {
	if s := who[0]; len(who) == 1 {
		one := [1]int32{s.seat.token}
		return s.seat.alone(ctx, s, s.model.decode, one[:])
	}
	m := g.memory
	d := m.model.joint
	m.length = 0
	for _, s := range who {
		m.length = max(m.length, s.length)
	}
	m.widen(1)
	begin := time.Now()
	m.begin(alone)
	m.placeJoint(d, who)
	err := m.finish(m.submit(context.Background(), d.fn)) // the contexts of others continue
	m.model.stepped(ctx, begin, StepMetrics{Func: m.model.program.Funcs[d.fn].Name, Tokens: len(who), Sessions: len(who), Err: err})
	if err != nil {
		for _, s := range who {
			s.seat.fail(s.length, 1)
		}
		return err
	}
	logits, vocab := m.Floats(d.logits), m.model.program.LM.Vocab
	for i, s := range who {
		c := s.seat
		copy(c.logits, logits[i*vocab:])
		one := [1]int32{c.token}
		c.put(s.length, one[:])
		s.length++
	}
	return nil
}

// placeJoint writes the size and the inputs of a joint step.
func (s *Session) placeJoint(d *driver, who []*Session) {
	if d.symbol >= 0 {
		s.args.Dims[d.symbol] = len(who)
	}
	tokens, pos, slots := s.Ints(d.tokens), s.Ints(d.pos), s.Ints(d.slot)
	for i, w := range who {
		tokens[i], pos[i], slots[i] = w.seat.token, int32(w.length), int32(w.slot)
		if d.lengths != nil {
			s.Ints(d.lengths)[w.slot] = int32(w.length + 1)
		}
	}
	s.reach(&s.model.program.Funcs[d.fn])
}
