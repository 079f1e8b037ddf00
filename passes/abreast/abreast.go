// Package abreast does things at once that do not depend on each other: none of them writes what
// another one reads. Results are those of doing one after the other, for any number of processors,
// and so are panics: the caller has that of the lowest number, as a [*Panic], once all that began is
// over.
package abreast

import (
	"fmt"
	"runtime"
	"runtime/debug"
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
	first    int    // the lowest number whose call panicked
	panicked *Panic // with this; nil for none
}

// Panic is what the caller panics with for a call that did: the caller's own stack does not show where
// that was.
type Panic struct {
	Value any    // what the call panicked with
	Stack string // there
}

// Error says what it was and where, for whom nobody recovers.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, p.Stack) }

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
	p, ok := x.(*Panic) // of what the call did at once itself
	if !ok {
		p = &Panic{x, string(debug.Stack())}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.panicked == nil || i < c.first {
		c.first, c.panicked = i, p
	}
}
