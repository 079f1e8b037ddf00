package order

import "container/heap"

// schedule returns an order that is made greedily, and its peaks. A node is ready once its predecessors have run. Of
// the ready nodes in the first split, the one with the least growth of live bytes runs next, or the earliest of these
// in the order before.
//
// For example, r and s are sums that take 1 byte, and the other values take 8:
//
//	order before    ready, with growth     schedule
//	a = f(x)        a +8, b +8             a = f(x)
//	b = g(x)        r -7, b +8             r = sum(a)
//	r = sum(a)      b +8                   b = g(x)
//	s = sum(b)      s -7                   s = sum(b)
//	                peak 17                peak 10
//
// The growth of a node becomes smaller when it is the last node left that reads a value. It then gets another entry in
// the heap of ready nodes; the old entry is found when the node has run, and skipped.
func (g *dataflow) schedule() (_ []int, peaks []int64) {
	s := newScheduler(g)
	list := make([]int, 0, len(g.work))
	for len(s.ready) > 0 {
		c := heap.Pop(&s.ready).(candidate)
		if i := int(c.node); !s.ran[i] {
			s.run(i)
			list = append(list, i)
		}
	}
	return list, s.m.peak
}

// candidate is a ready node with the bytes by which it makes the live bytes grow.
type candidate struct {
	node, split int32
	growth      int64
}

// before reports whether a runs before b: it is in an earlier split, or has less growth, or was earlier in the order
// before.
func (a candidate) before(b candidate) bool {
	switch {
	case a.split != b.split:
		return a.split < b.split
	case a.growth != b.growth:
		return a.growth < b.growth
	}
	return a.node < b.node
}

// candidates implements heap.Interface.
type candidates []candidate

func (c candidates) Len() int           { return len(c) }
func (c candidates) Less(i, j int) bool { return c[i].before(c[j]) }
func (c candidates) Swap(i, j int)      { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)        { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// scheduler is the state of a list schedule.
type scheduler struct {
	g       *dataflow
	m       *memory
	waits   []int32   // by node: number of predecessors that have not run
	after   [][]int32 // by node: the nodes of which it is a predecessor
	readers [][]int32 // by value id: the nodes that read it
	ran     []bool    // by node
	ready   candidates
}

func newScheduler(g *dataflow) *scheduler {
	n := len(g.work)
	s := &scheduler{g: g, m: g.memory(), waits: make([]int32, n), after: holders(g.preds, n), readers: holders(g.reads, len(g.uses)), ran: make([]bool, n)}
	for i := range n {
		if s.waits[i] = int32(len(g.preds[i])); s.waits[i] == 0 {
			s.enter(i)
		}
	}
	return s
}

// holders returns for each number below count the indexes of the lists that contain it, in order, as often as they
// contain it.
func holders(lists [][]int32, count int) [][]int32 {
	of := make([][]int32, count)
	for i, list := range lists {
		for _, x := range list {
			of[x] = append(of[x], int32(i))
		}
	}
	return of
}

// enter puts a ready node into the heap.
func (s *scheduler) enter(i int) {
	heap.Push(&s.ready, candidate{int32(i), s.g.split[i], s.m.growth(i)})
}

// run runs node i, and enters the nodes that become ready.
func (s *scheduler) run(i int) {
	s.m.run(i)
	s.ran[i] = true
	for _, v := range s.g.reads[i] {
		if s.m.left[v] == 1 {
			s.lastReader(v)
		}
	}
	for _, j := range s.after[i] {
		if s.waits[j]--; s.waits[j] == 0 {
			s.enter(int(j))
		}
	}
}

// lastReader enters the only node again that has not read v yet, if it is ready.
func (s *scheduler) lastReader(v int32) {
	for _, j := range s.readers[v] {
		if !s.ran[j] && s.waits[j] == 0 {
			s.enter(int(j))
		}
	}
}
