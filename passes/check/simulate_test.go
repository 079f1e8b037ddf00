package check_test

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// This file defines what a plan with queues means, by running it: workers, queues and several steps under way, one
// action after the other in an order that is drawn at random among what docs/explanation/queues.md allows. Memory holds
// in each cell which version of which value it is, and every read specifies which version it has to find. See
// schedule_test.go for the drawing.

// script is an entry point laid out: what has to be done in each step.
type script struct {
	m       *ir.Module
	f       *ir.Func
	targets *target.List
	oracle  *oracle // for sizes, parts and elements
	steps   int     // under way at once

	tasks    []*task
	versions int
	inputs   []span
	results  []span
	states   map[string]*stateVersions

	memory map[memoryKey]*cells
}

// task is a node that runs, in one iteration of the repeats around it.
type task struct {
	name    string
	queue   string
	before  []ir.Wait // of repeats that begin here: worker 0 waits
	waits   []ir.Wait
	event   int
	beside  bool // it may begin before those before it on its queue have ended
	barrier bool // before it, and after its waits
	shares  []share
}

// share is what one worker touches: all of it, for a node on a queue.
type share struct {
	worker        int32
	reads, writes []span
}

// span is bytes of a value.
type span struct {
	what    string
	at      binding
	version int32
	pieces  [][2]int64 // counted from the value's first byte
}

// binding is what a value names, and the place where readers expect it.
type binding struct {
	version int32
	place   ir.Place
	slots   int
	stride  int64
	state   string // the state whose bytes they are; empty for others
}

// stateVersions are the versions of a state that a call finds and leaves.
type stateVersions struct {
	first, last int32
	at          binding
	bytes       int64
}

type memoryKey struct{ arena, chunk, instance int }

// cells are the pieces of a chunk that accesses distinguish.
type cells struct {
	borders []int64
	holds   []content
}

// content is which version a cell holds, of which step, and how far after the value's
// first byte.
type content struct {
	version, step int32
	after         int64
}

func newScript(m *ir.Module, f *ir.Func, targets *target.List, workers int, size func(*ir.Symbol) int64) *script {
	s := &script{
		m: m, f: f, targets: targets, oracle: &oracle{m: m, size: size, workers: workers},
		steps: max(m.Plan.Pipeline, 1), states: make(map[string]*stateVersions), memory: make(map[memoryKey]*cells),
	}
	env := make(map[*ir.Value]binding)
	for _, p := range f.Params {
		env[p] = s.bind(p, *p.Place)
		s.inputs = append(s.inputs, s.whole(p, env[p]))
	}
	e := &unroller{s: s}
	e.run(f, env)
	for _, r := range f.Results {
		s.results = append(s.results, s.whole(r, env[r]))
	}
	s.layOut()
	return s
}

// bind gives a value a version of its own at a place.
func (s *script) bind(v *ir.Value, p ir.Place) binding {
	s.versions++
	a := &s.m.Plan.Arenas[p.Arena]
	return binding{version: int32(s.versions), place: p, slots: v.Slots(), stride: a.Stride(&p)}
}

// whole is all of a value.
func (s *script) whole(v *ir.Value, at binding) span { return s.span(v, at, 0, -1, -1) }

// span is the elements of v in a range of an axis.
func (s *script) span(v *ir.Value, at binding, axis int, lo, hi int64) span {
	sp := span{what: v.String(), at: at, version: at.version}
	s.oracle.elements(v.Type, rootBytes(v, s.oracle.size), axis, lo, hi, func(_, b int64) {
		if n := len(sp.pieces); n > 0 && sp.pieces[n-1][1] == b {
			sp.pieces[n-1][1] = b + cellBytes
		} else {
			sp.pieces = append(sp.pieces, [2]int64{b, b + cellBytes})
		}
	})
	return sp
}

// class returns that of the arena of a binding.
func (s *script) class(b binding) ir.Class { return s.m.Plan.Arenas[b.place.Arena].Class }

// unroller writes a script.
type unroller struct {
	s       *script
	barrier bool
	before  []ir.Wait
}

func (u *unroller) run(f *ir.Func, env map[*ir.Value]binding) {
	epoch := 0
	for _, n := range f.Nodes {
		switch {
		case n.Is(ir.Leaf):
			env[n.Result()] = u.s.leaf(n)
			continue
		case n.Is(ir.View):
			env[n.Result()] = env[n.Args[0]]
			continue
		}
		if n.Epoch > epoch {
			epoch, u.barrier = n.Epoch, true
		}
		if n.Op == ir.OpRepeat {
			u.repeat(n, env)
			continue
		}
		t := u.s.task(n, env)
		t.barrier, u.barrier = u.barrier, false
		t.before, u.before = u.before, nil
		u.s.tasks = append(u.s.tasks, t)
	}
}

func (s *script) leaf(n *ir.Node) binding {
	switch a := n.Attr.(type) {
	case *ir.WeightAttr:
		return binding{place: *s.m.Weight(a.Name).Place, slots: 1}
	case *ir.StateAttr:
		st := s.states[a.Name]
		if st == nil {
			st = &stateVersions{at: s.bind(n.Result(), *s.m.State(a.Name).Place), bytes: n.Result().Type.MaxBytes()}
			st.at.state = a.Name
			st.first, st.last = st.at.version, st.at.version
			s.states[a.Name] = st
		}
		return st.at
	}
	return binding{place: *n.Result().Place, slots: 1}
}

func (u *unroller) repeat(n *ir.Node, env map[*ir.Value]binding) {
	a := n.Attr.(*ir.RepeatAttr)
	fixed := a.Carried + a.Invariant
	from, carried := env, slices.Clone(n.Args[:a.Carried])
	if n.Submit != nil {
		u.before = append(u.before, n.Submit.Waits...)
	}
	for iteration := range int(a.Count) {
		in := make(map[*ir.Value]binding)
		for i, p := range n.Body.Params {
			switch {
			case i < a.Carried:
				in[p] = u.s.passed(from[carried[i]], p)
			case i < fixed:
				in[p] = u.s.passed(env[n.Args[i]], p)
			default:
				in[p] = env[n.Args[fixed+(i-fixed)*int(a.Count)+iteration]]
			}
		}
		u.barrier = u.barrier || n.Body.HeadBarrier
		u.run(n.Body, in)
		from, carried = in, n.Body.Results
	}
	for i, r := range n.Results {
		env[r] = u.s.passed(from[carried[i]], r)
	}
}

// passed is a binding as another value has it: code that names the value looks where the plan places it.
func (s *script) passed(b binding, v *ir.Value) binding {
	if v.Place != nil {
		b.place, b.slots = *v.Place, v.Slots()
		b.stride = s.m.Plan.Arenas[b.place.Arena].Stride(&b.place)
	}
	return b
}

// task lays out a node: it reads what its operands are, and makes new versions.
func (s *script) task(n *ir.Node, env map[*ir.Value]binding) *task {
	t := &task{name: n.String(), queue: n.Queue()}
	if n.Submit != nil {
		t.waits, t.event, t.beside = n.Submit.Waits, n.Submit.Event, n.Submit.Concurrent
	}
	parts := s.oracle.parts(n)
	for _, p := range parts {
		sh := share{worker: p.worker}
		for i, a := range n.Args {
			if a != nil && s.class(env[a]) != ir.ClassWeights {
				axis, lo, hi := argRange(n, i, p)
				sh.reads = append(sh.reads, s.span(a, env[a], axis, lo, hi))
			}
		}
		t.shares = append(t.shares, sh)
	}
	for i, r := range n.Results {
		env[r] = s.made(n, r, env)
		for k, p := range parts {
			axis, lo, hi := resultRange(n, i, p)
			t.shares[k].writes = append(t.shares[k].writes, s.span(r, env[r], axis, lo, hi))
		}
	}
	return t
}

// made returns the binding of a node's result.
func (s *script) made(n *ir.Node, r *ir.Value, env map[*ir.Value]binding) binding {
	if !n.Is(ir.Alias) {
		return s.bind(r, *r.Place)
	}
	b := env[n.Args[n.Op.Info().AliasArg]]
	s.versions++
	b.version = int32(s.versions)
	if st := s.states[b.state]; st != nil {
		st.last = b.version
	}
	return b
}

// chunk returns the memory of a binding in a step, and the offset.
func (s *script) chunk(b binding, step, worker int) (memoryKey, int64) {
	key := memoryKey{b.place.Arena, b.place.Chunk, 0}
	switch s.class(b) {
	case ir.ClassIO:
		key.instance = step % s.steps
	case ir.ClassScratch:
		key.instance = worker
	}
	return key, b.place.Offset + int64(step%b.slots)*b.stride
}

// layOut finds the cells of all memory.
func (s *script) layOut() {
	for _, sp := range s.inputs {
		s.cut(sp, 0)
	}
	for _, sp := range s.results {
		s.cut(sp, 0)
	}
	for _, st := range s.states {
		s.cut(st.span(), 0)
	}
	for _, t := range s.tasks {
		for _, sh := range t.shares {
			for _, sp := range slices.Concat(sh.reads, sh.writes) {
				s.cut(sp, int(sh.worker))
			}
		}
	}
	for _, c := range s.memory {
		slices.Sort(c.borders)
		c.borders = slices.Compact(c.borders)
		c.holds = make([]content, len(c.borders))
	}
}

func (st *stateVersions) span() span {
	return span{what: "state " + st.at.state, at: st.at, version: st.last, pieces: [][2]int64{{0, st.bytes}}}
}

// cut makes the ends of a span borders, in all instances.
func (s *script) cut(sp span, worker int) {
	for step := range max(sp.at.slots, s.steps) {
		key, offset := s.chunk(sp.at, step, worker)
		c := s.memory[key]
		if c == nil {
			c = &cells{}
			s.memory[key] = c
		}
		for _, p := range sp.pieces {
			c.borders = append(c.borders, offset+p[0], offset+p[1])
		}
	}
}

// reset fills memory with what nothing has written, and states with their first versions.
func (s *script) reset() {
	for _, c := range s.memory {
		clear(c.holds)
	}
	for _, st := range s.states {
		sp := st.span()
		sp.version = st.first
		s.write(sp, 0, 0)
	}
}

// each calls do for the cells of a span.
func (s *script) each(sp span, step, worker int, do func(c *content, after int64)) {
	key, offset := s.chunk(sp.at, step, worker)
	c := s.memory[key]
	for _, p := range sp.pieces {
		i, _ := slices.BinarySearch(c.borders, offset+p[0])
		for ; c.borders[i] < offset+p[1]; i++ {
			do(&c.holds[i], c.borders[i]-offset)
		}
	}
}

// write puts a version into memory.
func (s *script) write(sp span, step, worker int) {
	s.each(sp, step, worker, func(c *content, after int64) { *c = content{sp.version, int32(step) + 1, after} })
}

// read returns what is wrong with what a span finds; empty if it is what it should be.
func (s *script) read(sp span, step, worker int) (wrong string) {
	want := content{sp.version, int32(step) + 1, 0}
	if st := s.states[sp.at.state]; st != nil && sp.version == st.first && step > 0 {
		want.version = st.last // what the step before has left
		if st.last != st.first {
			want.step = int32(step)
		} else {
			want.step = 1
		}
	}
	s.each(sp, step, worker, func(c *content, after int64) {
		if want.after = after; *c != want && wrong == "" {
			wrong = fmt.Sprintf("step %d: %s: byte %#x is of version %d of step %d, not of version %d of step %d", step, sp.what, after, c.version, c.step-1, want.version, want.step-1)
		}
	})
	return wrong
}
