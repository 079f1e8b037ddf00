package order

import "slices"

// memory counts the live bytes along an order.
//
// For example, a takes 4 bytes and b, c and d take 2 each, x is a parameter, and d may take the bytes of c:
//
//	            live while it runs     live after it
//	a = f(x)    a          4           a        4
//	b = g(a)    a b        6           a b      6
//	c = h(a)    a b c      8, peak     b c      4
//	d = k(b, c) b c        4           d        2
type memory struct {
	g          *dataflow
	left       []int32 // by value id: readers that have not run
	live, peak []int64 // by space
}

func (g *dataflow) memory() *memory {
	n := len(g.spaces)
	return &memory{g: g, left: slices.Clone(g.uses), live: make([]int64, n), peak: make([]int64, n)}
}

// growth returns by how many bytes more are live after node i than before it.
func (m *memory) growth(i int) int64 {
	var sum int64
	for _, v := range m.g.makes[i] {
		if m.left[v] > 0 {
			sum += m.g.bytes[v]
		}
	}
	for _, v := range m.g.reads[i] {
		if m.left[v] == 1 {
			sum -= m.g.bytes[v]
		}
	}
	return sum
}

// run counts node i. While it runs, its operands and results are live together, except an operand whose bytes the
// result takes.
func (m *memory) run(i int) {
	taken := m.taken(i)
	if taken >= 0 {
		m.add(taken, -m.g.bytes[taken])
	}
	for _, v := range m.g.makes[i] {
		m.add(v, m.g.bytes[v])
	}
	for _, v := range m.g.makes[i] {
		if m.left[v] == 0 {
			m.add(v, -m.g.bytes[v])
		}
	}
	for _, v := range m.g.reads[i] {
		if m.left[v]--; m.left[v] == 0 && v != taken {
			m.add(v, -m.g.bytes[v])
		}
	}
}

// taken returns the value whose bytes the result of node i takes; -1 for none.
func (m *memory) taken(i int) int32 {
	for _, v := range m.g.takes[i] {
		if m.left[v] == 1 {
			return v
		}
	}
	return -1
}

// add adds live bytes to the space of v.
func (m *memory) add(v int32, bytes int64) {
	space := m.g.space[v]
	m.live[space] += bytes
	m.peak[space] = max(m.peak[space], m.live[space])
}

// peaks returns, by space, the most bytes that are live at once.
func (g *dataflow) peaks(order []int) []int64 {
	m := g.memory()
	for _, i := range order {
		m.run(i)
	}
	return m.peak
}
