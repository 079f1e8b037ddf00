package view

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/explain"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// TimePage is one call of an entry point: what runs on which lane, and when.
type TimePage struct {
	Func    string   `json:"func"`
	Lanes   []string `json:"lanes"`
	Seconds float64  `json:"seconds"`
	Note    string   `json:"note,omitempty"`
	Cut     bool     `json:"cut,omitempty"` // there are more bars than the page has

	// Bars are lane, thing, begin, duration and iteration of the innermost repeat. A thing is an index of
	// Document.Nodes; -1 is a barrier, -2 a wait, and others, -3 and below, are in Names. Times are nanoseconds.
	Bars  [][5]int64 `json:"bars"`
	Names []string   `json:"names,omitempty"`
}

// Things of bars that are no nodes.
const (
	thingBarrier = -1
	thingWait    = -2
	thingNamed   = -3
)

// maxBars is how many bars a page has for a call.
const maxBars = 20000

func (p *TimePage) lane(name string) int {
	for i, l := range p.Lanes {
		if l == name {
			return i
		}
	}
	p.Lanes = append(p.Lanes, name)
	return len(p.Lanes) - 1
}

func (p *TimePage) bar(lane, thing int, begin, seconds float64, iteration int) {
	p.Seconds = max(p.Seconds, begin+seconds)
	if len(p.Bars) >= maxBars {
		p.Cut = true
		return
	}
	nanos := func(s float64) int64 { return int64(math.Round(s * 1e9)) }
	p.Bars = append(p.Bars, [5]int64{int64(lane), int64(thing), nanos(begin), nanos(seconds), int64(iteration)})
}

// schedule runs a call in predicted time. The host works through the nodes in order and submits those of queues; a
// queue does them one after the other. A node begins when the host has come to it, its queue is free and the events
// that it waits for have happened. Events of the step before have happened.
type schedule struct {
	page    *TimePage
	seconds map[string]float64 // of nodes, by id
	at      map[string]int     // index of Document.Nodes, by id
	last    string             // the backend of the host
	barrier float64            // seconds of one

	host  float64            // until when the host is busy
	free  map[string]float64 // by queue
	event map[int]float64
}

// predicted returns the predicted call of an entry point; nil where no time is known.
func (d *Document) predicted(f *ir.Func, all *explain.Explanations) *TimePage {
	s := &schedule{page: &TimePage{Func: ir.QuoteName(f.Name)}, seconds: make(map[string]float64), at: d.at, free: make(map[string]float64), event: make(map[int]float64)}
	s.last = all.Targets[len(all.Targets)-1]
	known := false
	for _, n := range all.Nodes {
		if n.Cost != nil && n.Cost.Seconds > 0 {
			s.seconds[reportID(n)] = n.Cost.Seconds
			known = true
		}
	}
	if !known || f.Module.Props&ir.PropPartitioned == 0 {
		return nil
	}
	for _, e := range all.Summary.Entries {
		if e.Func == f.Name && e.Barriers != nil && *e.Barriers > 0 {
			s.barrier = e.BarrierSeconds / float64(*e.Barriers)
		}
	}
	s.page.lane("host")
	s.run(f, 0)
	return s.page
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
		s.page.bar(0, thingBarrier, s.host, s.barrier*float64(times), iteration)
		s.host += s.barrier * float64(times)
	}
}

// wait lets the host wait for the events of a node.
func (s *schedule) wait(n *ir.Node, iteration int) {
	if until := s.waited(n); until > s.host {
		s.page.bar(0, thingWait, s.host, until-s.host, iteration)
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
	id := idOfNode(n)
	seconds, queue := s.seconds[id], n.Queue()
	if queue == "" {
		s.wait(n, iteration)
		s.page.bar(s.hostLane(n), s.at[id], s.host, seconds, iteration)
		s.host += seconds
		return
	}
	begin := max(s.host, s.free[queue], s.waited(n))
	s.page.bar(s.page.lane(queue), s.at[id], begin, seconds, iteration)
	s.free[queue] = begin + seconds
	if e := n.Submit.Event; e != 0 {
		s.event[e] = s.free[queue]
	}
}

// hostLane returns the lane of a node without a queue. While a backend without a queue works, the host waits.
func (s *schedule) hostLane(n *ir.Node) int {
	if n.Backend == s.last || n.Part.Mode != ir.PartNone && n.Part.Mode != ir.PartOne {
		return 0
	}
	return s.page.lane(n.Backend)
}
