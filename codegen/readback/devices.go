package readback

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// device is a backend of the program besides its processor.
type device struct {
	*target.Descriptor
	queues []int // their numbers in the program
}

// queue is a queue of a device. One without queues has one that the host waits for after
// each use.
type queue struct {
	name          string
	device, local int
}

// chunk is a piece of memory: an allocation of a plan's arena.
type chunk struct {
	arena, index int
	device       int // that allocates it; -1 for the host
}

// number gives devices, queues and memory the numbers that runtime.Layout counts them by:
// in the order of targets and of arenas.
func (c *checker) number() {
	used := make(map[string]bool)
	for _, f := range c.m.AllFuncs() {
		for _, n := range f.Nodes {
			used[n.Backend] = true
		}
	}
	for _, t := range c.targets.All() {
		if t.Kind == "cpu" || !used[t.Name] && !c.holds(t) {
			continue
		}
		d := device{Descriptor: t}
		for local := range max(t.Queues, 1) {
			d.queues = append(d.queues, len(c.queues))
			c.queues = append(c.queues, queue{t.Name + []string{"", ".in"}[min(local, 1)], len(c.devices), local})
		}
		c.devices = append(c.devices, d)
	}
	c.countChunks()
	c.recorders()
}

// countChunks numbers the chunks of all arenas.
func (c *checker) countChunks() {
	for i := range c.m.Plan.Arenas {
		for k := range c.m.Plan.Arenas[i].Chunks {
			c.chunks = append(c.chunks, chunk{i, k, c.owner(c.m.Plan.Arenas[i].Space)})
		}
	}
}

// holds reports whether the plan has an arena in memory of a target's own.
func (c *checker) holds(t *target.Descriptor) bool {
	return t.Spaces[0] != target.Host && slices.ContainsFunc(c.m.Plan.Arenas, func(a ir.Arena) bool { return t.Addresses(a.Space) })
}

// owner returns the device that allocates the memory of a space: the first that addresses
// it; -1 for the host.
func (c *checker) owner(space string) int {
	if space == target.Host {
		return -1
	}
	return slices.IndexFunc(c.devices, func(d device) bool { return d.Addresses(space) })
}

// memory returns the number of the memory where a place is.
func (c *checker) memory(p *place) int {
	return slices.IndexFunc(c.chunks, func(k chunk) bool { return k.arena == p.arena && k.index == p.chunk })
}

// sees reports whether the commands of a device get the address of a memory. The host's
// scratch is its workers'.
func (c *checker) sees(d *device, number int) bool {
	if number < 0 {
		return false
	}
	a := &c.m.Plan.Arenas[c.chunks[number].arena]
	return d.Addresses(a.Space) && !(a.Space == target.Host && a.Class == ir.ClassScratch)
}

// site is where a node runs.
type site struct {
	queue int  // -1 for the host's workers
	waits bool // the host waits until the queue is empty
}

// where returns where a node runs.
func (c *checker) where(n *ir.Node) site {
	if name := n.Queue(); name != "" {
		number := slices.IndexFunc(c.queues, func(q queue) bool { return q.name == name })
		if number < 0 {
			fail("%v is on the queue %s, which no device has", n, name)
		}
		return site{queue: number}
	}
	d := slices.IndexFunc(c.devices, func(d device) bool { return d.Name == n.Backend })
	if copies(n) && space(n.Args[0]) != space(n.Result()) {
		if d = c.owner(space(n.Args[0])); d < 0 {
			d = c.owner(space(n.Result()))
		}
	}
	if d < 0 || n.Body != nil {
		return site{queue: -1}
	}
	return site{queue: c.devices[d].queues[0], waits: true}
}

func copies(n *ir.Node) bool { return n.Op == ir.OpCopy || n.Op == ir.OpCopyExperts }

// space returns the memory space of a value's bytes.
func space(v *ir.Value) string {
	if s := v.Root().Type.Space; s != "" {
		return s
	}
	return target.Host
}

// hasEvents reports whether the device of a queue has events.
func (c *checker) hasEvents(queue int) bool { return c.devices[c.queues[queue].device].Events }

// recorders notes for each entry point on which queue its events are recorded.
func (c *checker) recorders() {
	c.events = make(map[*ir.Func]map[int]int)
	for _, f := range c.m.AllFuncs() {
		entry := f
		for entry.Owner != nil {
			entry = entry.Owner.Func
		}
		if c.events[entry] == nil {
			c.events[entry] = make(map[int]int)
		}
		for _, n := range f.Nodes {
			if n.Submit != nil && n.Submit.Event > 0 {
				c.events[entry][n.Submit.Event] = c.where(n).queue
			}
		}
	}
}
