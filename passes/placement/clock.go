package placement

// clock predicts the time of a step by simulating its queues: it walks over the nodes in the order in which the host
// submits them and notes when each is done.
//
// The rules are those of docs/explanation/queues.md:
//
//   - A target without a queue runs a node while the host waits.
//   - A target with a queue runs its nodes in the order of submission, each as soon as what it reads is there.
//   - A copy out of the memory of a device runs on the queue of that device. A copy out of the memory of the host runs
//     on the queue of the reader. If the reader has two queues, such a copy runs on the second one and does not wait
//     for the host, because the pass order submits these copies first.
//   - A value is copied once into each space.
//   - A reader waits for the event of what it reads. If one of the two targets has no events, the host waits instead,
//     until the queue of the maker is empty.
//
// Example: node 0 runs on a GPU with a queue and takes 3 s. Node 1 runs on the CPU and takes 2 s. Node 2 runs on the
// CPU, reads the result of node 0 and takes 1 s. The copy to the CPU takes 0.5 s.
//
//	            GPU queue    host
//	node 0      0 to 3       submits it at 0
//	node 1                   0 to 2
//	copy        3 to 3.5
//	node 2                   3.5 to 4.5
//
// The step takes 4.5 s. The sum of all times is 6.5 s.
type clock struct {
	g *graph

	// The state of one walk.
	labels []int32
	host   float64    // when the host is free
	queue  []float64  // by target: when its queue is empty
	link   []float64  // by target: when its queue of copies is empty
	done   []float64  // by node: when it is done
	copies []madeCopy // by value and space: the copy that was made last
	walks  int32      // the number of the walk, from 1
}

// madeCopy is a copy that a walk has made. It does not apply to other walks, so that a new one need not clear the
// table.
type madeCopy struct {
	at   float64 // when it is there
	by   int32   // which target's queue makes it; -1 is the host
	walk int32
}

// finished is when a result is there, and which target's queue makes it; -1 is the host.
type finished struct {
	at float64
	by int32
}

func newClock(g *graph) *clock {
	return &clock{
		g:      g,
		queue:  make([]float64, len(g.Targets)),
		link:   make([]float64, len(g.Targets)),
		done:   make([]float64, len(g.Nodes)),
		copies: make([]madeCopy, len(g.Values)*g.spaces),
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

// step returns the time of one step, without its weight.
func (c *clock) step(labels []int32, i int) float64 {
	s := &c.g.Steps[i]
	return c.walk(labels, s.First, s.End)
}

// walk returns the time of the first nodes of a step: those from first to end, where first is the first of the step.
func (c *clock) walk(labels []int32, first, end int) float64 {
	c.labels = labels
	c.host = 0
	clear(c.queue)
	clear(c.link)
	c.walks++
	for i := first; i < end; i++ {
		c.run(int32(i))
	}
	t := c.host
	for i := range c.queue {
		t = max(t, c.queue[i], c.link[i])
	}
	return t
}

// run runs node n.
func (c *clock) run(n int32) {
	t, seconds := c.labels[n], c.g.Nodes[n].Seconds
	var ready float64
	for _, v := range c.g.Nodes[n].Reads {
		ready = max(ready, c.read(v, t))
	}
	if c.g.Targets[t].Queues == 0 {
		c.host = max(c.host, ready) + seconds[t]
		c.done[n] = c.host
		return
	}
	c.queue[t] = max(c.queue[t], c.host, ready) + seconds[t]
	c.done[n] = c.queue[t]
}

// read returns when target t can read value v. It makes a copy if t needs one that is not there yet.
func (c *clock) read(v, t int32) float64 {
	if c.g.reaches(t, c.g.spaceOf(c.labels, v)) {
		return c.wait(c.made(v), t)
	}
	made := &c.copies[int(v)*c.g.spaces+int(c.g.home(t))]
	if made.walk != c.walks {
		f := c.makeCopy(v, t)
		*made = madeCopy{f.at, f.by, c.walks}
	}
	return c.wait(finished{made.at, made.by}, t)
}

// made returns when value v itself is there.
func (c *clock) made(v int32) finished {
	maker := c.g.Values[v].Maker
	if maker < 0 {
		return finished{0, -1}
	}
	return finished{c.done[maker], c.labels[maker]}
}

// makeCopy copies value v into the home of target t.
func (c *clock) makeCopy(v, t int32) finished {
	from := c.g.spaceOf(c.labels, v)
	seconds := c.g.copySeconds(v, from, c.g.home(t))
	by := c.g.copier[from]
	if by < 0 {
		by = t
	}
	ready := c.wait(c.made(v), by)
	switch queues := c.g.Targets[by].Queues; {
	case queues == 0:
		c.host = max(c.host, ready) + seconds
		return finished{c.host, -1}
	case queues > 1 && c.g.copier[from] < 0:
		c.link[by] = max(c.link[by], ready) + seconds
		return finished{c.link[by], by}
	}
	c.queue[by] = max(c.queue[by], c.host, ready) + seconds
	return finished{c.queue[by], by}
}

// wait returns when target t can use a result. If the result comes from a queue, and no event can signal it, the host
// waits until that queue is empty.
func (c *clock) wait(f finished, t int32) float64 {
	if f.by < 0 || f.by == t || c.g.Targets[f.by].Queues == 0 {
		return f.at
	}
	maker, reader := &c.g.Targets[f.by], &c.g.Targets[t]
	if maker.Events && (reader.Events || reader.Queues == 0) {
		return f.at
	}
	c.host = max(c.host, c.queue[f.by])
	return c.host
}
