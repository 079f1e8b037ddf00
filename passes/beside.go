package passes

import "sync"

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
