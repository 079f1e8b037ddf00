package check_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// schedule is one run of a script, in an order of its own.
type schedule struct {
	s      *script
	steps  int // in all
	actors []actor
	rng    *rand.Rand

	workers []*worker
	queues  map[string]*queueActor
	arrived int // workers that wait at the barrier
	events  map[int]*signal
	before  map[int]*signal // events of the step before
	open    []int           // by step: what has not ended yet, of workers and commands
	taken   int             // steps of which the caller has the results
	wrong   string
}

// actor does one thing after the other.
type actor interface {
	ready() bool // whether the next thing can be done now
	act()
}

// signal is one record of an event.
type signal struct {
	done  bool
	queue *queueActor // to be empty, where the target has no events
}

func (s *signal) over() bool {
	if s.queue != nil {
		return len(s.queue.commands) == 0
	}
	return s.done
}

func over(list []*signal) bool {
	for _, s := range list {
		if !s.over() {
			return false
		}
	}
	return true
}

// worker goes through the tasks of all steps.
type worker struct {
	r       *schedule
	id      int
	step    int
	at      int // task; as many as there are tasks when the step has ended
	phase   phase
	waiting bool // at the barrier
	signals []*signal
}

// phase is what a worker does next for a task.
type phase uint8

const (
	begin phase = iota // of a step: meet, and worker 0 waits
	waits              // worker 0 waits for events
	meet               // barrier
	read
	write
)

// command is what a queue does.
type command struct {
	t       *task
	step    int
	signals []*signal
	record  *signal
	begun   bool // it has read
	ended   bool // it has written
}

type queueActor struct {
	r        *schedule
	commands []*command
}

// caller takes results.
type caller struct{ r *schedule }

func newSchedule(s *script, steps int, rng *rand.Rand) *schedule {
	r := &schedule{s: s, steps: steps, rng: rng, queues: make(map[string]*queueActor), events: make(map[int]*signal), before: make(map[int]*signal), open: make([]int, steps)}
	for i := range s.oracle.workers {
		w := &worker{r: r, id: i}
		r.workers = append(r.workers, w)
		r.actors = append(r.actors, w)
	}
	for _, t := range s.tasks {
		if t.queue != "" && r.queues[t.queue] == nil {
			r.queues[t.queue] = &queueActor{r: r}
			r.actors = append(r.actors, r.queues[t.queue])
		}
	}
	r.actors = append(r.actors, &caller{r})
	for i := range r.open {
		r.open[i] = len(r.workers)
	}
	return r
}

// run does everything, and returns the first thing that went wrong. Pick chooses among the
// actors that are ready.
func (r *schedule) run(pick func(ready []int) int) string {
	r.s.reset()
	for r.wrong == "" {
		var ready []int
		for i, a := range r.actors {
			if a.ready() {
				ready = append(ready, i)
			}
		}
		if len(ready) == 0 {
			break
		}
		r.actors[pick(ready)].act()
	}
	if r.wrong == "" && r.taken < r.steps {
		return fmt.Sprintf("no actor is ready, and the results of step %d are not there", r.taken)
	}
	for _, st := range r.s.states {
		sp := st.span()
		sp.version = st.first
		r.check(r.s.read(sp, r.steps, 0), nil)
	}
	return r.wrong
}

func (r *schedule) check(wrong string, t *task) {
	if wrong == "" || r.wrong != "" {
		return
	}
	if r.wrong = wrong; t != nil {
		r.wrong = t.name + ": " + wrong
	}
}

// ready: worker 0 begins a step when the caller has the results of the one that used the
// same instances; the others, when worker 0 is there.
func (w *worker) ready() bool {
	switch {
	case w.step == w.r.steps || w.waiting:
		return false
	case w.phase == begin && w.id == 0:
		return w.step < w.r.taken+w.r.s.steps
	case w.phase == waits && w.id == 0:
		return over(w.signals)
	}
	return true
}

func (w *worker) act() {
	r := w.r
	switch w.phase {
	case begin:
		if w.id == 0 {
			r.enter(w.step)
		}
		w.next(-1)
		w.barrier()
	case waits:
		w.phase = meet
		w.act()
	case meet:
		t := r.s.tasks[w.at]
		w.phase = read
		if t.barrier {
			w.barrier()
		}
	case read:
		w.read(r.s.tasks[w.at])
	case write:
		t := r.s.tasks[w.at]
		if sh := t.share(w.id); sh != nil {
			for _, sp := range sh.writes {
				r.s.write(sp, w.step, w.id)
			}
		}
		if w.id == 0 && t.event != 0 {
			r.events[t.event] = &signal{done: true}
		}
		w.next(w.at)
	}
}

// read reads what a task of the host reads, and submits one of a queue.
func (w *worker) read(t *task) {
	if t.queue != "" {
		if w.id == 0 {
			w.r.submit(t, w.step)
		}
		w.next(w.at)
		return
	}
	w.phase = write
	if sh := t.share(w.id); sh != nil {
		for _, sp := range sh.reads {
			w.r.check(w.r.s.read(sp, w.step, w.id), t)
		}
	}
}

// share returns what a worker does of a task; nil if nothing.
func (t *task) share(worker int) *share {
	for i := range t.shares {
		if int(t.shares[i].worker) == worker {
			return &t.shares[i]
		}
	}
	return nil
}

// next goes to the task after one, or ends the step.
func (w *worker) next(at int) {
	w.at = at + 1
	if w.at < len(w.r.s.tasks) {
		w.phase = waits
		t := w.r.s.tasks[w.at]
		w.signals = nil
		if w.id == 0 {
			w.signals, _ = w.r.signals(t)
		}
		return
	}
	w.r.open[w.step]--
	w.step, w.phase = w.step+1, begin
}

// barrier waits for all workers.
func (w *worker) barrier() {
	r := w.r
	w.waiting = true
	if r.arrived++; r.arrived == len(r.workers) {
		r.arrived = 0
		for _, w := range r.workers {
			w.waiting = false
		}
	}
}

// enter begins a step: the caller puts its inputs where they belong.
func (r *schedule) enter(step int) {
	r.before, r.events = r.events, make(map[int]*signal)
	for _, sp := range r.s.inputs {
		r.s.write(sp, step, 0)
	}
}

// signals returns the records that a task waits for, as they are when worker 0 comes to it: the records that worker 0
// itself waits for, and the records that the queue waits for. Only the host knows when a queue without events is empty,
// so the host waits for it.
func (r *schedule) signals(t *task) (host, queue []*signal) {
	host = r.recorded(t.before)
	for _, s := range r.recorded(t.waits) {
		if t.queue == "" || s.queue != nil || !r.s.hasEvents(t.queue) {
			host = append(host, s)
		} else {
			queue = append(queue, s)
		}
	}
	return host, queue
}

// recorded returns the last records of events. An event that was never recorded has none.
func (r *schedule) recorded(waits []ir.Wait) []*signal {
	var list []*signal
	for _, w := range waits {
		from := r.events
		if w.Prev {
			from = r.before
		}
		if s := from[w.Event]; s != nil {
			list = append(list, s)
		}
	}
	return list
}

func (r *schedule) submit(t *task, step int) {
	_, signals := r.signals(t)
	c := &command{t: t, step: step, signals: signals}
	q := r.queues[t.queue]
	if t.event != 0 {
		c.record = &signal{}
		if !r.s.hasEvents(t.queue) {
			c.record.queue = q
		}
		r.events[t.event] = c.record
	}
	r.open[step]++
	q.commands = append(q.commands, c)
}

// hasEvents reports whether the target of a queue has events.
func (s *script) hasEvents(queue string) bool {
	for _, d := range s.targets.All() {
		if queue == d.Name || queue == d.Name+".in" {
			return d.Events
		}
	}
	return true
}

func (q *queueActor) ready() bool { return len(q.commands) > 0 && over(q.commands[0].signals) }

// act carries on with one of the commands at the head of the queue that may run at the same time. Commands that have
// ended leave the queue in order.
func (q *queueActor) act() {
	var open []*command
	for i, c := range q.commands {
		if i > 0 && !c.t.beside {
			break
		}
		if !c.ended {
			open = append(open, c)
		}
	}
	c := open[q.r.rng.IntN(len(open))]
	if !c.begun {
		c.begun = true
		for _, sp := range c.t.shares[0].reads {
			q.r.check(q.r.s.read(sp, c.step, 0), c.t)
		}
		return
	}
	for _, sp := range c.t.shares[0].writes {
		q.r.s.write(sp, c.step, 0)
	}
	c.ended = true
	for len(q.commands) > 0 && q.commands[0].ended {
		q.leave(q.commands[0])
	}
}

// leave takes the first command, which has ended, off the queue.
func (q *queueActor) leave(c *command) {
	q.commands = q.commands[1:]
	if c.record != nil {
		c.record.done = true
	}
	q.r.open[c.step]--
}

func (c *caller) ready() bool { return c.r.taken < c.r.steps && c.r.open[c.r.taken] == 0 }

func (c *caller) act() {
	for _, sp := range c.r.s.results {
		c.r.check(c.r.s.read(sp, c.r.taken, 0), nil)
	}
	c.r.taken++
}

// order draws in which order actors act. Some runs draw evenly, some let one actor act only
// when no other can, or whenever it can: what nothing orders comes out in the wrong order
// when one side is late.
func (r *schedule) order(number int) func(ready []int) int {
	n := len(r.actors)
	special, kind := number/3%n, number%3
	return func(ready []int) int {
		var rest []int
		for _, i := range ready {
			switch {
			case kind == 1 && i == special:
				return i
			case kind != 2 || i != special:
				rest = append(rest, i)
			}
		}
		if len(rest) == 0 {
			return special
		}
		return rest[r.rng.IntN(len(rest))]
	}
}

// simulate runs an entry point of a plan in so many orders, and returns what went wrong in
// the first that gave another result; empty if none did.
func simulate(m *ir.Module, f *ir.Func, targets *target.List, workers, orders int, size func(*ir.Symbol) int64) string {
	s := newScript(m, f, targets, workers, size)
	rng := rand.New(rand.NewPCG(uint64(orders), uint64(workers)))
	for i := range orders {
		r := newSchedule(s, 2*s.steps+1, rng)
		if what := r.run(r.order(i)); what != "" {
			return fmt.Sprintf("order %d: %s", i, what)
		}
	}
	return ""
}
