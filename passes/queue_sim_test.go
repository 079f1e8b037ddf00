package passes

import (
	"fmt"
	"math/rand/v2"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pipeline"
	"github.com/ggmlc/ggmlc/passes/target"
)

// queueSim runs steps of a planned entry point as devices might: queues continue whenever they
// may, in any order, and so do worker 0, which submits, and the other workers, which share
// the host's nodes and meet it at barriers. Each node reads all the time that it runs, and
// what it writes is garbage until it ends. It is written without the clocks of sync.
type queueSim struct {
	m       *ir.Module
	f       *ir.Func
	targets *target.List
	steps   int // how many to run
	n       int // that may be under way

	// What is run, in the order of the program.
	program    []simItem
	scopes     []map[*ir.Value]int // what made values
	iterations map[*ir.Func]int
	states     map[string]int
	tags       int
	step       int
	now        map[int]*simTask // by event: its last record in this step
	before     map[int]*simTask // in the one before
	queued     map[string]*simTask
	tasks      [][]*simTask // with queues, by step
	wanted     [][]simAccess
	given      [][]simAccess

	// What has been run.
	memory map[simCell]int
	queues map[string][]*simTask
	names  []string
	err    error
}

// simItem is what worker 0 or the others do next; both meet at barriers and steps.
type simItem struct {
	kind simKind
	task *simTask
	step int
}

type simKind uint8

const (
	simBarrier simKind = iota
	simStep            // a step begins
	simWait            // worker 0 waits for a task
	simSubmit
	simFirst  // worker 0 runs a node
	simOthers // the others do
)

// simTask is one execution of a node.
type simTask struct {
	node          *ir.Node
	step          int
	reads, writes []simAccess
	waits         []*simTask
	began, ended  bool
}

// simAccess is cells, and which execution made what they hold.
type simAccess struct {
	arena, chunk, instance int
	lo, hi                 int64
	tag                    int
}

// simCell is 64 bytes: all offsets are multiples of that.
type simCell struct {
	arena, chunk, instance int
	at                     int64
}

const simCellBytes = 64

// garbage is what cells hold while they are written.
const garbage = -1

// simulateQueues returns the first read that does not find what it should.
func simulateQueues(m *ir.Module, f *ir.Func, targets *target.List, steps int, r *rand.Rand) error {
	s := &queueSim{m: m, f: f, targets: targets, steps: steps, n: max(m.Plan.Pipeline, 1),
		iterations: make(map[*ir.Func]int), states: make(map[string]int), queued: make(map[string]*simTask),
		memory: make(map[simCell]int), queues: make(map[string][]*simTask)}
	for s.step = range steps {
		s.lay()
	}
	s.add(simItem{kind: simStep, step: steps})
	s.run(r)
	return s.err
}

// lay appends a step to the program.
func (s *queueSim) lay() {
	s.scopes = []map[*ir.Value]int{{}}
	s.before, s.now = s.now, make(map[int]*simTask)
	s.tasks = append(s.tasks, nil)
	s.add(simItem{kind: simStep, step: s.step})
	var given, wanted []simAccess
	for _, p := range s.f.Params {
		s.define(p, s.newTag())
		given = s.access(given, p)
	}
	s.function(s.f)
	s.add(simItem{kind: simBarrier})
	for _, v := range s.f.Results {
		wanted = s.access(wanted, v)
	}
	s.given, s.wanted = append(s.given, given), append(s.wanted, wanted)
}

func (s *queueSim) add(i simItem) { s.program = append(s.program, i) }

func (s *queueSim) newTag() int { s.tags++; return s.tags }

func (s *queueSim) define(v *ir.Value, tag int) { s.scopes[len(s.scopes)-1][v] = tag }

// function appends the nodes of f.
func (s *queueSim) function(f *ir.Func) {
	epoch := 0
	for _, n := range f.Nodes {
		if n.Is(ir.Leaf) || n.Is(ir.View) {
			continue
		}
		if n.Submit != nil {
			s.hostWaits(n)
		}
		if n.Epoch > epoch {
			s.add(simItem{kind: simBarrier})
			epoch = n.Epoch
		}
		if n.Op == ir.OpRepeat {
			s.repeat(n)
			continue
		}
		s.node(n)
	}
}

// hostWaits appends what worker 0 waits for before n. Those of the first node of a body come
// after the barrier at the head of the iteration otherwise; see repeat.
func (s *queueSim) hostWaits(n *ir.Node) {
	for _, w := range n.Submit.Waits {
		t, drained := s.recorded(w)
		if t == nil || n.Queue() != "" && !drained && s.events(n.Queue()) {
			continue
		}
		at := len(s.program)
		if at > 0 && s.program[at-1].kind == simBarrier && n.Epoch == 0 && n.Queue() == "" && n.Func.HeadBarrier {
			s.program = append(s.program[:at-1], simItem{kind: simWait, task: t}, simItem{kind: simBarrier})
			continue
		}
		s.add(simItem{kind: simWait, task: t})
	}
}

func (s *queueSim) events(queue string) bool { return pipeline.HasEvents(s.targets, queue) }

// recorded returns the task that a wait is for: where the queue has no events, the last one
// submitted there.
func (s *queueSim) recorded(w ir.Wait) (t *simTask, drained bool) {
	if t = s.now[w.Event]; w.Prev {
		t = s.before[w.Event]
	}
	if t != nil && !s.events(t.node.Queue()) {
		return s.queued[t.node.Queue()], true
	}
	return t, false
}

func (s *queueSim) repeat(n *ir.Node) {
	a := n.Attr.(*ir.RepeatAttr)
	carried := make([]int, a.Carried)
	for i := range carried {
		carried[i] = s.tagOf(n.Args[i])
	}
	for iteration := range int(a.Count) {
		if n.Body.HeadBarrier {
			s.add(simItem{kind: simBarrier})
		}
		scope := make(map[*ir.Value]int)
		for i, t := range carried {
			scope[n.Body.Params[i]] = t
		}
		s.scopes = append(s.scopes, scope)
		s.iterations[n.Body] = iteration
		s.function(n.Body)
		for i := range carried {
			carried[i] = s.tagOf(n.Body.Results[i])
		}
		s.scopes = s.scopes[:len(s.scopes)-1]
	}
	for i, t := range carried {
		s.define(n.Results[i], t)
	}
}

// node appends an execution of n.
func (s *queueSim) node(n *ir.Node) {
	t := &simTask{node: n, step: s.step}
	for _, v := range n.Args {
		if v != nil {
			t.reads = s.access(t.reads, v)
		}
	}
	for _, v := range n.Results {
		tag := s.newTag()
		s.define(v, tag)
		if o := s.owner(v); o.Def != nil && o.Def.Op == ir.OpState {
			s.states[stateName(o)] = tag
		}
		t.writes = s.access(t.writes, v)
	}
	switch queue := n.Queue(); {
	case queue != "":
		for _, w := range n.Submit.Waits {
			if from, _ := s.recorded(w); from != nil {
				t.waits = append(t.waits, from)
			}
		}
		s.add(simItem{kind: simSubmit, task: t})
		s.tasks[s.step] = append(s.tasks[s.step], t)
		s.queued[queue] = t
		if n.Submit.Event != 0 {
			s.now[n.Submit.Event] = t
		}
	case n.Part.Mode == ir.PartOne:
		s.add(simItem{kind: simFirst, task: t})
	default:
		s.add(simItem{kind: simOthers, task: t})
	}
}

func stateName(v *ir.Value) string { return v.Def.Attr.(*ir.StateAttr).Name }

// passed returns what the repeat passes for a parameter in this iteration.
func (s *queueSim) passed(p *ir.Value) *ir.Value {
	n := p.Func.Owner
	a := n.Attr.(*ir.RepeatAttr)
	fixed := a.Carried + a.Invariant
	if p.Index < fixed {
		return n.Args[p.Index]
	}
	return n.Args[fixed+(p.Index-fixed)*int(a.Count)+s.iterations[p.Func]]
}

func ownsBytes(p *ir.Value) bool {
	return p.Func.Owner == nil || p.Index < p.Func.Owner.Attr.(*ir.RepeatAttr).Carried
}

// owner returns the value whose bytes v names.
func (s *queueSim) owner(v *ir.Value) *ir.Value {
	for {
		switch {
		case v.Def == nil && ownsBytes(v):
			return v
		case v.Def == nil:
			v = s.passed(v)
		case v.Def.Is(ir.View):
			v = v.Def.Args[0]
		case v.Def.Is(ir.Alias):
			v = v.Def.Args[v.Def.Op.Info().AliasArg]
		default:
			return v
		}
	}
}

// tagOf returns which execution made v.
func (s *queueSim) tagOf(v *ir.Value) int {
	for {
		for i := len(s.scopes) - 1; i >= 0; i-- {
			if t, ok := s.scopes[i][v]; ok {
				return t
			}
		}
		switch {
		case v.Def == nil:
			v = s.passed(v)
		case v.Def.Is(ir.View):
			v = v.Def.Args[0]
		case v.Def.Op == ir.OpState:
			return s.states[stateName(v)]
		default:
			return 0
		}
	}
}

// access appends the cells of v; none for weights, which are never written, and scratch, of
// which each worker has its own.
func (s *queueSim) access(list []simAccess, v *ir.Value) []simAccess {
	o := s.owner(v)
	if o.Def != nil && (o.Def.Op == ir.OpWeight || o.Def.Op == ir.OpConstant) {
		return list
	}
	at := o.Place
	if o.Def != nil && o.Def.Op == ir.OpState {
		at = s.m.State(stateName(o)).Place
	}
	arena := &s.m.Plan.Arenas[at.Arena]
	if arena.Class == ir.ClassScratch {
		return list
	}
	a := simAccess{arena: at.Arena, chunk: at.Chunk, tag: s.tagOf(v)}
	offset := at.Offset
	if slots := o.Slots(); slots > 1 {
		offset += int64(s.step%slots) * arena.Stride(at)
	}
	if arena.Class == ir.ClassIO {
		a.instance = s.step % s.n
	}
	a.lo, a.hi = offset/simCellBytes, (offset+at.Bytes+simCellBytes-1)/simCellBytes
	return append(list, a)
}

func (s *queueSim) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// check demands that the cells hold what they should.
func (s *queueSim) check(a simAccess, not []simAccess, format string, args ...any) {
	for at := a.lo; at < a.hi; at++ {
		c := simCell{a.arena, a.chunk, a.instance, at}
		if got := s.memory[c]; got != a.tag && !covers(not, c) {
			s.fail("%s: cell %v holds %d, not %d", fmt.Sprintf(format, args...), c, got, a.tag)
			return
		}
	}
}

func covers(list []simAccess, c simCell) bool {
	for _, a := range list {
		if a.arena == c.arena && a.chunk == c.chunk && a.instance == c.instance && a.lo <= c.at && c.at < a.hi {
			return true
		}
	}
	return false
}

func (s *queueSim) fill(a simAccess, tag int) {
	for at := a.lo; at < a.hi; at++ {
		s.memory[simCell{a.arena, a.chunk, a.instance, at}] = tag
	}
}

// advance begins or ends a task and reports whether it ended.
func (s *queueSim) advance(t *simTask) bool {
	for _, a := range t.reads {
		var own []simAccess
		if t.began {
			own = t.writes
		}
		s.check(a, own, "step %d: %v on %q", t.step, t.node, t.node.Queue())
	}
	for _, a := range t.writes {
		if !t.began {
			s.fill(a, garbage)
			continue
		}
		s.check(simAccess{a.arena, a.chunk, a.instance, a.lo, a.hi, garbage}, nil, "step %d: %v on %q, while it writes", t.step, t.node, t.node.Queue())
		s.fill(a, a.tag)
	}
	t.ended, t.began = t.began, true
	return t.ended
}

// run lets worker 0, the others and the queues continue in turns drawn by r.
func (s *queueSim) run(r *rand.Rand) {
	first, others, idle := 0, 0, 0
	for s.err == nil && first < len(s.program) && idle < 10000 {
		idle++
		switch who := r.IntN(2 + len(s.names)); who {
		case 0:
			if s.worker(&first, others, true) {
				idle = 0
			}
		case 1:
			if s.worker(&others, first, false) {
				idle = 0
			}
		default:
			if s.queue(s.names[who-2]) {
				idle = 0
			}
		}
	}
	if s.err == nil && first < len(s.program) {
		s.fail("nobody can go on at item %d: %v", first, s.program[first])
	}
}

// worker does the next item of worker 0 or of the others; false if it has to wait.
func (s *queueSim) worker(at *int, other int, first bool) bool {
	if *at == len(s.program) {
		return false
	}
	i := s.program[*at]
	switch {
	case i.kind == simBarrier || i.kind == simStep:
		// The one that comes last takes both on; the other one finds itself ahead.
		if other < *at || i.kind == simStep && other == *at && !s.begin(i.step) {
			return false
		}
	case i.kind == simWait && first:
		if !i.task.ended {
			return false
		}
	case i.kind == simSubmit && first:
		s.submit(i.task)
	case i.kind == simFirst && first, i.kind == simOthers && !first:
		if !s.advance(i.task) {
			return true
		}
	}
	*at++
	return true
}

// begin starts a step, once the one that had its instances has ended everywhere.
func (s *queueSim) begin(step int) bool {
	for old := range step {
		if old > step-s.n && step < s.steps {
			break
		}
		for _, t := range s.tasks[old] {
			if !t.ended {
				return false
			}
		}
	}
	for old := max(0, step-s.n); old < step && (old == step-s.n || step == s.steps); old++ {
		for _, a := range s.wanted[old] {
			s.check(a, nil, "the results of step %d", old)
		}
	}
	if step < s.steps {
		for _, a := range s.given[step] {
			s.fill(a, a.tag)
		}
	}
	return true
}

func (s *queueSim) submit(t *simTask) {
	name := t.node.Queue()
	if _, known := s.queues[name]; !known {
		s.names = append(s.names, name)
	}
	s.queues[name] = append(s.queues[name], t)
}

// queue lets a queue continue; false if it has to wait.
func (s *queueSim) queue(name string) bool {
	q := s.queues[name]
	if len(q) == 0 {
		return false
	}
	for _, w := range q[0].waits {
		if !w.ended {
			return false
		}
	}
	if s.advance(q[0]) {
		s.queues[name] = q[1:]
	}
	return true
}
