package passes

import (
	"sync"
	"sync/atomic"
)

// beside does two things at once that do not depend on each other and of which neither writes
// what the other one reads. A panic of either is the caller's, the first one's before the
// second one's, as if they ran one after the other.
func beside(first, second func()) {
	var wait sync.WaitGroup
	var panicked any
	wait.Go(func() {
		defer func() { panicked = recover() }()
		second()
	})
	returned := false
	defer func() {
		wait.Wait()
		if returned && panicked != nil { // else the first one's panic goes on
			panic(panicked)
		}
	}()
	first()
	returned = true
}

// share does jobs two at a time, in order: whoever is done with one takes the next. None writes what
// another one reads. Panics are the caller's as with beside.
func share(jobs []func()) {
	var taken atomic.Int64
	work := func() {
		for i := int(taken.Add(1)) - 1; i < len(jobs); i = int(taken.Add(1)) - 1 {
			jobs[i]()
		}
	}
	beside(work, work)
}
