package sample

// better orders candidates: higher logits first, then lower ids.
func better(a, b candidate) bool {
	return a.logit > b.logit || a.logit == b.logit && a.id < b.id
}

func worse(a, b candidate) bool { return better(b, a) }

// heapify makes h a heap whose root comes first in the given order.
func heapify(h []candidate, first func(a, b candidate) bool) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		sift(h, i, first)
	}
}

// sift moves h[i] down to its place.
func sift(h []candidate, i int, first func(a, b candidate) bool) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && first(h[child+1], h[child]) {
			child++
		}
		if !first(h[child], h[i]) {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// sortHeap orders a heap of the worst first so that the best comes first.
func sortHeap(h []candidate) {
	for n := len(h) - 1; n > 0; n-- {
		h[0], h[n] = h[n], h[0]
		sift(h[:n], 0, worse)
	}
}

// ring holds the last cap(ids) tokens, in any order.
type ring struct {
	ids  []int32
	next int
}

func (r *ring) add(id int32) {
	switch {
	case cap(r.ids) == 0:
	case len(r.ids) < cap(r.ids):
		r.ids = append(r.ids, id)
	default:
		r.ids[r.next] = id
		r.next = (r.next + 1) % len(r.ids)
	}
}
