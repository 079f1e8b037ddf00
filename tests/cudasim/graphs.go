//go:build linux

package cudasim

import (
	"math/rand/v2"
	"slices"
	"syscall"
)

// capture is the making of a graph from what is submitted to streams. It begins with one stream. Others join it when
// they wait for an event that was recorded in it (CUDA Programming Guide, "Cross-stream Dependencies and Events").
type capture struct {
	graph   *graph
	origin  *stream
	streams []*stream // all captured streams
	invalid bool      // by a wrong use; it can only be ended
	faults  int       // of the thread when it began. Any more make it invalid
	ended   bool
}

// graph is operations in a partial order.
type graph struct{ nodes []node }

// node is an operation, with the numbers of its predecessors.
type node struct {
	op    operation
	after []int
}

// executable is a graph that can be launched.
type executable struct {
	nodes   []node
	running int
}

// add appends a node that follows those of a stream.
func (c *capture) add(s *stream, op operation) uint32 {
	if c.invalid {
		return captureInvalidated
	}
	c.graph.nodes = append(c.graph.nodes, node{op, s.after})
	s.after = []int{len(c.graph.nodes) - 1}
	return success
}

// join makes a stream wait for an event that was recorded in a capture, which the stream becomes a part of. With mu.
func (d *Driver) join(s *stream, e *event) uint32 {
	c := e.capture
	switch {
	case c.ended:
		d.problem("cuStreamWaitEvent for an event of a capture that has ended")
		return capturedEvent
	case s.capture != nil && s.capture != c:
		d.problem("cuStreamWaitEvent: two captures would become one")
		s.capture.invalid, c.invalid = true, true
		return captureMerge
	case c.invalid:
		return captureInvalidated
	case s.capture == nil:
		s.capture, s.after = c, nil
		c.streams = append(c.streams, s)
	}
	for _, n := range e.after {
		if !slices.Contains(s.after, n) {
			s.after = append(slices.Clip(s.after), n)
		}
	}
	return success
}

// joined reports whether the stream with which the capture began follows all nodes.
func (c *capture) joined() bool {
	seen := make([]bool, len(c.graph.nodes))
	left := slices.Clone(c.origin.after)
	for len(left) > 0 {
		n := left[len(left)-1]
		if left = left[:len(left)-1]; !seen[n] {
			seen[n] = true
			left = append(left, c.graph.nodes[n].after...)
		}
	}
	return !slices.Contains(seen, false)
}

// end ends the capture for all of its streams.
func (c *capture) end() {
	for _, s := range c.streams {
		s.capture, s.after = nil, nil
	}
	c.ended = true
}

func (d *Driver) StreamBeginCapture(h uintptr, _ uint32) uintptr {
	r := d.beginIn("cuStreamBeginCapture")
	if r != success {
		return d.end(r)
	}
	s, ok := object[*stream](d, "cuStreamBeginCapture", h)
	switch {
	case !ok:
		r = invalidHandle
	case s.capture != nil:
		d.problem("a stream is captured twice")
		s.capture.invalid = true
		r = illegalState
	default:
		s.capture = &capture{graph: new(graph), origin: s, streams: []*stream{s}, faults: d.faults[syscall.Gettid()]}
	}
	return d.end(r)
}

// StreamEndCapture returns no graph if the capture is not valid. The capture ends even so.
func (d *Driver) StreamEndCapture(h uintptr, to *uintptr) uintptr {
	r := d.beginIn("cuStreamEndCapture")
	s, ok := object[*stream](d, "cuStreamEndCapture", h)
	if ok && s.capture != nil && s.capture.origin == s {
		defer s.capture.end()
	}
	switch {
	case r != success:
	case !ok:
		r = invalidHandle
	case s.capture == nil:
		d.problem("cuStreamEndCapture without a begin")
		r = illegalState
	case s.capture.origin != s:
		d.problem("cuStreamEndCapture of a stream with which the capture did not begin")
		s.capture.invalid = true
		r = captureUnmatched
	case s.capture.invalid || s.capture.faults < d.faults[syscall.Gettid()]:
		r = captureInvalidated
	case !s.capture.joined():
		d.problem("cuStreamEndCapture: a stream of the capture is not joined")
		r = captureUnjoined
	default:
		*to = uintptr(d.add(s.capture.graph))
		d.captured = append(d.captured, s.capture.graph)
	}
	return d.end(r)
}

// Captured returns the graphs that were captured: for each node of each graph, the numbers of its predecessors.
func (d *Driver) Captured() (all [][][]int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.captured {
		var nodes [][]int
		for _, n := range g.nodes {
			nodes = append(nodes, n.after)
		}
		all = append(all, nodes)
	}
	return all
}

// order returns a source of orders, another one each time.
func (d *Driver) order() *rand.Rand {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seed++
	return rand.New(rand.NewPCG(uint64(d.seed), 0))
}

// run runs the nodes, one after the other, in some order that their dependencies allow.
func (x *executable) run(order *rand.Rand) uint32 {
	done := make([]bool, len(x.nodes))
	for range x.nodes {
		var ready []int
		for i := range x.nodes {
			if !done[i] && !slices.ContainsFunc(x.nodes[i].after, func(n int) bool { return !done[n] }) {
				ready = append(ready, i)
			}
		}
		next := ready[order.IntN(len(ready))]
		if r := x.nodes[next].op(); r != success {
			return r
		}
		done[next] = true
	}
	return success
}

func (d *Driver) GraphInstantiateWithFlags(to *uintptr, h uintptr, _ uint64) uintptr {
	r := d.beginIn("cuGraphInstantiateWithFlags")
	if r != success {
		return d.end(r)
	}
	g, ok := object[*graph](d, "cuGraphInstantiateWithFlags", h)
	if !ok {
		return d.end(invalidHandle)
	}
	*to = uintptr(d.add(&executable{nodes: slices.Clone(g.nodes)}))
	return d.end(success)
}

func (d *Driver) GraphDestroy(h uintptr) uintptr {
	r := d.beginIn("cuGraphDestroy")
	if r == success {
		if _, ok := object[*graph](d, "cuGraphDestroy", h); !ok {
			r = invalidHandle
		}
		delete(d.objects, uint64(h))
	}
	return d.end(r)
}

func (d *Driver) GraphExecDestroy(h uintptr) uintptr {
	r := d.beginIn("cuGraphExecDestroy")
	if r == success {
		x, ok := object[*executable](d, "cuGraphExecDestroy", h)
		if !ok {
			r = invalidHandle
		} else if x.running > 0 {
			d.problem("cuGraphExecDestroy of a graph that runs")
		}
		delete(d.objects, uint64(h))
	}
	return d.end(r)
}

func (d *Driver) GraphLaunch(h, on uintptr) uintptr {
	r := d.beginIn("cuGraphLaunch")
	if r != success {
		return d.end(r)
	}
	x, ok := object[*executable](d, "cuGraphLaunch", h)
	if !ok {
		return d.end(invalidHandle)
	}
	x.running++
	return d.end(d.submit("cuGraphLaunch", on, func() uint32 {
		r := x.run(d.order())
		d.mu.Lock()
		x.running--
		d.mu.Unlock()
		return r
	}))
}
