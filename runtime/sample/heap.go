package sample

import "cmp"

// better orders candidates: higher logits first, then lower ids.
func better(a, b candidate) bool {
	return a.logit > b.logit || a.logit == b.logit && a.id < b.id
}

func worse(a, b candidate) bool { return better(b, a) }

// compareBetter is the order of better as a comparison.
func compareBetter(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.logit, a.logit), cmp.Compare(a.id, b.id))
}

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
