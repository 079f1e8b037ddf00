package placement

import "slices"

// clock predicts the time of a step: it walks over the nodes in order, as the host that
// submits them does.
//
// As docs/queues.md has it: targets without a queue run their nodes while the host waits.
// The others run theirs in the order of submission, each as soon as what it reads is there.
// A copy runs on the queue of the target whose memory the source is in. From memory of the
// host it runs on the queue of the target that reads it, or, where that has two, beside its
// other work and as soon as the source is there, as pass order puts such copies first.
// Without events, only the host waits, until the queue of whoever made the value is empty.
type clock struct {
	g      *graph
	labels []int32

	host  float64
	queue []float64 // by target: when its queue is empty
	link  []float64 // by target: when its queue of copies is
	done  []float64 // by node
	heads []int32   // by value: first of its copies, index in made plus one
	made  []copied
}

// copied is a copy of a value in a space.
type copied struct {
	value int32
	space int32
	next  int32
	by    int32 // target whose queue made it; -1 is the host
	ready float64
}

func newClock(g *graph) *clock {
	return &clock{
		g:     g,
		queue: make([]float64, len(g.Targets)),
		link:  make([]float64, len(g.Targets)),
		done:  make([]float64, len(g.Nodes)),
		heads: make([]int32, len(g.Values)),
	}
}

// total returns the weighted time of all steps.
func (c *clock) total(labels []int32) float64 {
	var sum float64
	for i := range c.g.Steps {
		sum += c.g.Steps[i].Weight * c.step(labels, i)
	}
	return sum
}

// step returns the time of one step.
func (c *clock) step(labels []int32, i int) float64 {
	s := &c.g.Steps[i]
	return c.part(labels, s.First, s.End)
}

// part returns when the nodes of a range are done, which begins where a step does.
func (c *clock) part(labels []int32, first, end int) float64 {
	c.labels = labels
	c.host = 0
	clear(c.queue)
	clear(c.link)
	for i := range c.made {
		c.heads[c.made[i].value] = 0
	}
	c.made = c.made[:0]
	for i := first; i < end; i++ {
		c.node(int32(i))
	}
	return c.end()
}

func (c *clock) end() float64 {
	t := c.host
	for i := range c.queue {
		t = max(t, c.queue[i], c.link[i])
	}
	return t
}

func (c *clock) node(i int32) {
	n := &c.g.Nodes[i]
	t := c.labels[i]
	var start float64
	for _, v := range n.Reads {
		start = max(start, c.ready(v, t))
	}
	if c.g.Targets[t].Queues == 0 {
		c.host = max(c.host, start) + n.Seconds[t]
		c.done[i] = c.host
		return
	}
	c.queue[t] = max(c.queue[t], c.host, start) + n.Seconds[t]
	c.done[i] = c.queue[t]
}

// ready returns when target t can read v, and copies it first where that is needed.
func (c *clock) ready(v, t int32) float64 {
	f := &c.g.facts[v]
	from := c.g.lies(c.labels, f)
	if c.g.reaches(t, from) {
		return c.after(f.maker, t)
	}
	to := c.g.homes[t]
	for k := c.heads[v]; k > 0; k = c.made[k-1].next {
		if m := &c.made[k-1]; m.space == to {
			return c.wait(m.by, m.ready, t)
		}
	}
	by, at := c.copy(f.maker, t, c.g.outOf[from], c.g.copySeconds(v, from, to))
	if n := len(c.made); n == cap(c.made) {
		c.made = slices.Grow(c.made, n+1) // twice as many: append adds a quarter at a time, and leaves more behind
	}
	c.made = append(c.made, copied{v, to, c.heads[v], by, at})
	c.heads[v] = int32(len(c.made))
	return c.wait(by, at, t)
}

// copy returns when a copy for t of what node m makes has been made, which takes secs, and by whom: by
// the target that has the source, if by names one, else by t, else by the host.
func (c *clock) copy(m, t, by int32, secs float64) (int32, float64) {
	onHost := by < 0
	if onHost {
		by = t
	}
	start := c.after(m, by)
	switch queues := c.g.Targets[by].Queues; {
	case queues == 0:
		c.host = max(c.host, start) + secs
		return -1, c.host
	case onHost && queues > 1:
		c.link[by] = max(c.link[by], start) + secs
		return by, c.link[by]
	}
	c.queue[by] = max(c.queue[by], c.host, start) + secs
	return by, c.queue[by]
}

// after returns when t can begin to use what node m makes where it lies; -1 is there from the beginning.
func (c *clock) after(m, t int32) float64 {
	if m < 0 {
		return 0
	}
	return c.wait(c.labels[m], c.done[m], t)
}

// wait returns when t can use what a target has made, which is done at a time. Without
// events the host waits.
func (c *clock) wait(by int32, done float64, t int32) float64 {
	if by < 0 || by == t || c.g.Targets[by].Queues == 0 {
		return done
	}
	a, b := &c.g.Targets[by], &c.g.Targets[t]
	if a.Events && (b.Events || b.Queues == 0) {
		return done
	}
	c.host = max(c.host, c.queue[by])
	return c.host
}
