package placement

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// abreast calls do for 0 to n-1. Workers, as many as there are processors, take the numbers in
// this order, each with tools of its own. A panic is the caller's once all workers are done: that
// of the lowest number, as if one call came after the other.
func abreast[T any](n int, tools func() T, do func(tools T, i int)) {
	workers := min(n, runtime.GOMAXPROCS(0))
	if workers <= 1 {
		if n > 0 {
			t := tools()
			for i := range n {
				do(t, i)
			}
		}
		return
	}
	crew := crew{taken: make([]any, n)}
	for range workers - 1 {
		crew.wait.Go(func() { work(&crew, tools, do) })
	}
	work(&crew, tools, do)
	crew.wait.Wait()
	for _, panicked := range crew.taken {
		if panicked != nil {
			panic(panicked)
		}
	}
}

// crew is what the workers of abreast share.
type crew struct {
	wait  sync.WaitGroup
	next  atomic.Int64
	taken []any // by number: what the call panicked with
}

// work is what one worker does: it ends when all numbers are taken, or with a panic.
func work[T any](c *crew, tools func() T, do func(T, int)) {
	i := int(c.next.Add(1)) - 1
	defer func() {
		if i < len(c.taken) {
			c.taken[i] = recover()
		}
	}()
	if i >= len(c.taken) {
		return
	}
	for t := tools(); i < len(c.taken); i = int(c.next.Add(1)) - 1 {
		do(t, i)
	}
}
