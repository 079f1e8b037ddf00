package explain

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// Call is one call of an entry point in predicted time: what runs on which lane, and when. Lane 0 is the host.
type Call struct {
	Func    string
	Lanes   []string
	Seconds float64
	Runs    []Run
}

// Run is a stretch of time on a lane.
type Run struct {
	Kind           RunKind
	Lane           int
	Node           *ir.Node // of a barrier or wait nil
	Begin, Seconds float64
	Iteration      int // of the innermost repeat
}

// RunKind tells what takes the time.
type RunKind uint8

// The kinds of runs.
const (
	NodeRun    RunKind = iota
	BarrierRun         // threads of the host wait for each other
	WaitRun            // the host waits for a queue
)

// schedule runs a call in predicted time. The host works through the nodes in order and submits those of queues; a
// queue does them one after the other. A node begins when the host has come to it, its queue is free and the events
// that it waits for have happened. Events of the call before have happened.
type schedule struct {
	x       *explainer
	call    *Call
	seconds map[*ir.Node]float64 // of one execution
	barrier float64              // seconds of one

	host  float64            // until when the host is busy
	free  map[string]float64 // by queue
	event map[int]float64
}

// predictCall returns the predicted call of an entry point; nil before partition and where no time is known.
func (x *explainer) predictCall(f *ir.Func, e *EntrySummary) *Call {
	if e.Barriers == nil {
		return nil
	}
	s := &schedule{x: x, call: &Call{Func: f.Name}, seconds: make(map[*ir.Node]float64), free: make(map[string]float64), event: make(map[int]float64)}
	known := false
	eachWorkNode(f, func(n *ir.Node, _ int64) {
		s.seconds[n] = x.seconds(x.target(n), n)
		known = known || s.seconds[n] > 0
	})
	if !known {
		return nil
	}
	if *e.Barriers > 0 {
		s.barrier = e.BarrierSeconds / float64(*e.Barriers)
	}
	s.lane("host")
	s.run(f, 0)
	return s.call
}

// lane returns the index of a lane, which is added if it is new.
func (s *schedule) lane(name string) int {
	for i, l := range s.call.Lanes {
		if l == name {
			return i
		}
	}
	s.call.Lanes = append(s.call.Lanes, name)
	return len(s.call.Lanes) - 1
}

func (s *schedule) add(r Run) {
	s.call.Seconds = max(s.call.Seconds, r.Begin+r.Seconds)
	s.call.Runs = append(s.call.Runs, r)
}

// run adds one run of a function.
func (s *schedule) run(f *ir.Func, iteration int) {
	if f.HeadBarrier {
		s.meet(1, iteration)
	}
	epoch := 0
	for _, n := range f.Nodes {
		if n.Epoch > epoch {
			s.meet(n.Epoch-epoch, iteration)
			epoch = n.Epoch
		}
		switch {
		case n.Op == ir.OpRepeat:
			s.wait(n, iteration)
			for i := range int(flow.Iterations(n)) {
				s.run(n.Body, i)
			}
		case flow.DoesWork(n):
			s.node(n, iteration)
		}
	}
}

// meet adds barriers of the host.
func (s *schedule) meet(times, iteration int) {
	if s.barrier > 0 {
		s.add(Run{Kind: BarrierRun, Begin: s.host, Seconds: s.barrier * float64(times), Iteration: iteration})
		s.host += s.barrier * float64(times)
	}
}

// wait lets the host wait for the events of a node.
func (s *schedule) wait(n *ir.Node, iteration int) {
	if until := s.waited(n); until > s.host {
		s.add(Run{Kind: WaitRun, Begin: s.host, Seconds: until - s.host, Iteration: iteration})
		s.host = until
	}
}

// waited returns when the events of a node have happened.
func (s *schedule) waited(n *ir.Node) float64 {
	var until float64
	if n.Submit != nil {
		for _, w := range n.Submit.Waits {
			if !w.Prev {
				until = max(until, s.event[w.Event])
			}
		}
	}
	return until
}

func (s *schedule) node(n *ir.Node, iteration int) {
	seconds, queue := s.seconds[n], n.Queue()
	if queue == "" {
		s.wait(n, iteration)
		s.add(Run{Lane: s.hostLane(n), Node: n, Begin: s.host, Seconds: seconds, Iteration: iteration})
		s.host += seconds
		return
	}
	begin := max(s.host, s.free[queue], s.waited(n))
	s.add(Run{Lane: s.lane(queue), Node: n, Begin: begin, Seconds: seconds, Iteration: iteration})
	s.free[queue] = begin + seconds
	if e := n.Submit.Event; e != 0 {
		s.event[e] = s.free[queue]
	}
}

// hostLane returns the lane of a node without a queue. While a backend without a queue works, the host waits.
func (s *schedule) hostLane(n *ir.Node) int {
	if n.Backend == s.x.o.Targets.Last().Name || n.Part.Mode != ir.PartNone && n.Part.Mode != ir.PartOne {
		return 0
	}
	return s.lane(n.Backend)
}
