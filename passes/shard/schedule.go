package shard

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/target"
)

// schedule runs a function that is written out in predicted time: each device runs its nodes in order, and waits for
// what others send it. A value is sent to a device once.
type schedule struct {
	members []*target.Descriptor
	links   *links
	free    []float64           // when a device has run its nodes so far
	has     map[arrival]float64 // when a value is on a device
	made    map[*ir.Value]int   // the device that computes it, or has it at the beginning

	messages int64
	bytes    int64
}

// arrival is a value on a device.
type arrival struct {
	v      *ir.Value
	device int
}

func newSchedule(members []*target.Descriptor) *schedule {
	return &schedule{members: members, links: newLinks(members), free: make([]float64, len(members)),
		has: make(map[arrival]float64), made: make(map[*ir.Value]int)}
}

// duration returns the predicted time of a function that is written out.
func duration(f *ir.Func, members []*target.Descriptor) float64 {
	s := newSchedule(members)
	s.run(f)
	return slices.Max(s.free)
}

// run runs a function. What no device has made is everywhere.
func (s *schedule) run(f *ir.Func) {
	number := make(map[string]int)
	for j, t := range s.members {
		number[t.Name] = j
	}
	needed := neededNodes(f)
	for _, n := range f.Nodes {
		j, placed := number[n.Backend]
		if !placed || !flow.DoesWork(n) || !needed[n] {
			continue
		}
		start := s.free[j]
		for _, a := range n.Args {
			if a != nil {
				start = max(start, s.get(a, j))
			}
		}
		e, t := flow.EffortOf(n), s.members[j]
		s.free[j] = start + t.Seconds(e.Flops, e.Read+e.Written, e.Weight, max(t.Hint, 1))
		v := n.Result().Root()
		s.has[arrival{v, j}], s.made[v] = s.free[j], j
	}
}

// get returns when a device has a value, which is sent to it if that is necessary: of a slice, the bytes that it shows.
func (s *schedule) get(a *ir.Value, j int) float64 {
	v := a.Root()
	from, computed := s.made[v]
	if at, whole := s.has[arrival{v, j}]; whole || !computed || from == j {
		return at
	}
	shown := flow.CopyBase(a)
	at, sent := s.has[arrival{shown, j}]
	if !sent {
		at = s.send(shown, from, j, s.has[arrival{v, from}])
		s.has[arrival{shown, j}] = at
	}
	return at
}

// send sends a value from one device to another one. It returns when it is there.
func (s *schedule) send(v *ir.Value, from, to int, ready float64) float64 {
	if s.members[to].Addresses(s.members[from].Home()) {
		return ready
	}
	s.messages++
	s.bytes += v.MaxBytes()
	return s.links.send(v, from, to, ready)
}

// links are when the links of devices are free. A device makes one copy after another of what it has, and its link
// receives one byte after another. Threads of the processor share the link of its memory. What goes by way of the host
// is copied there once for all readers.
type links struct {
	members []*target.Descriptor
	out, in []float64
	port    []int // index into in, by device
	host    map[*ir.Value]float64
}

func newLinks(members []*target.Descriptor) *links {
	l := &links{members: members, out: make([]float64, len(members)), in: make([]float64, len(members)),
		port: make([]int, len(members)), host: make(map[*ir.Value]float64)}
	memory := -1
	for j, t := range members {
		l.port[j] = j
		if onProcessor(t) && memory < 0 {
			memory = j
		}
		if onProcessor(t) {
			l.port[j] = memory
		}
	}
	return l
}

// onProcessor reports whether a backend's memory is that of the processor.
func onProcessor(t *target.Descriptor) bool { return t.IsGroup() || t.Home() == target.Host }

func (l *links) send(v *ir.Value, from, to int, ready float64) float64 {
	a, b, bytes := l.members[from], l.members[to], float64(v.MaxBytes())
	seconds, in := b.TransferSeconds(a, bytes), &l.in[l.port[to]]
	if (a.Staged || b.Staged) && a.Home() != target.Host && b.Home() != target.Host {
		second := b.TransferSeconds(nil, bytes)
		at, there := l.host[v]
		if !there {
			at = max(ready, l.out[from]) + seconds - second
			l.host[v], l.out[from] = at, at
		}
		*in = max(at, *in) + second
		return *in
	}
	l.out[from] = max(ready, l.out[from]) + seconds
	*in = max(l.out[from], *in+seconds-b.TransferSeconds(a, 0))
	return *in
}

// neededNodes returns the nodes whose results are read or returned, or that write states.
func neededNodes(f *ir.Func) map[*ir.Node]bool {
	needed := make(map[*ir.Node]bool)
	for _, r := range f.Results {
		needed[r.Def] = true
	}
	for i := len(f.Nodes) - 1; i >= 0; i-- {
		n := f.Nodes[i]
		if needed[n] = needed[n] || n.Is(ir.WritesState); !needed[n] {
			continue
		}
		for _, a := range n.Args {
			if a != nil {
				needed[a.Def] = true
			}
		}
	}
	return needed
}
