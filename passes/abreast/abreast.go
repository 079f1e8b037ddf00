// Package abreast does things at once that do not depend on each other: none of them writes what
// another one reads. Results are those of doing one after the other, for any number of processors,
// and so are panics: the caller has that of the lowest number, once all that began is over.
package abreast

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Do does jobs, as many at once as there are processors. Whoever is done with one takes the next.
func Do(jobs ...func()) {
	Each(len(jobs), func() struct{} { return struct{}{} }, func(_ struct{}, i int) { jobs[i]() })
}

// Each calls do for 0 to n-1. Workers, as many as there are processors, take the numbers in this
// order, each with tools of its own.
func Each[T any](n int, tools func() T, do func(tools T, i int)) {
	if n == 0 {
		return
	}
	crew := crew[T]{n: n, tools: tools, do: do}
	var others sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) - 1 {
		others.Go(crew.work)
	}
	crew.work()
	others.Wait()
	if crew.panicked != nil {
		panic(crew.panicked)
	}
}

// crew is what the workers of Each share.
type crew[T any] struct {
	n     int
	tools func() T
	do    func(T, int)
	next  atomic.Int64

	mu       sync.Mutex
	first    int // the lowest number whose call panicked
	panicked any // with this; nil for none
}

// work is what one worker does: it ends when all numbers are taken, or with a panic.
func (c *crew[T]) work() {
	i := int(c.next.Add(1)) - 1
	defer func() {
		if x := recover(); x != nil {
			c.note(i, x)
		}
	}()
	if i >= c.n {
		return
	}
	for tools := c.tools(); i < c.n; i = int(c.next.Add(1)) - 1 {
		c.do(tools, i)
	}
}

// note keeps what call i panicked with, if no lower one did.
func (c *crew[T]) note(i int, x any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.panicked == nil || i < c.first {
		c.first, c.panicked = i, x
	}
}
