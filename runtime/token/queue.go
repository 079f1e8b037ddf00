package token

// pair is two neighbours that can be joined to the token id. It is out of date if either has changed since, which its
// size shows.
type pair struct {
	key  uint32
	size int32
	left int
	id   int32
}

// before reports whether p is joined before q: the smaller key first, then the one further left.
func (p pair) before(q pair) bool {
	return p.key < q.key || p.key == q.key && p.left < q.left
}

// queue is a heap of pairs.
type queue []pair

// push adds a pair.
func (q *queue) push(p pair) {
	*q = append(*q, p)
	q.up(len(*q) - 1)
}

// pop removes the first pair.
func (q *queue) pop() pair {
	h := *q
	first := h[0]
	last := len(h) - 1
	h[0] = h[last]
	*q = h[:last]
	q.down()
	return first
}

// up moves the pair at i to its place among its ancestors.
func (q queue) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q[i].before(q[parent]) {
			return
		}
		q[i], q[parent] = q[parent], q[i]
		i = parent
	}
}

// down moves the pair at the root to its place among its descendants.
func (q queue) down() {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(q) {
			return
		}
		if child+1 < len(q) && q[child+1].before(q[child]) {
			child++
		}
		if !q[child].before(q[i]) {
			return
		}
		q[i], q[child] = q[child], q[i]
		i = child
	}
}
