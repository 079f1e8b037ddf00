package pass

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// FirstSupporting returns the first target that runs n, or could run its pieces, and why
// those before it do not.
func FirstSupporting(c *Context, n *ir.Node) (*target.Descriptor, []string) {
	var refusals []string
	for _, t := range c.Targets.All() {
		ok, why := t.Supports(n)
		if ok {
			return t, refusals
		}
		refusals = append(refusals, why)
	}
	return nil, refusals
}

// SpaceLimits returns the bytes that the plan may take in each space: the least of what the
// targets say that there is and of what the user allows for the space or for a backend that
// prefers it; -1 is no limit.
func SpaceLimits(c *Context, spaces []target.Space) []int64 {
	limits := make([]int64, len(spaces))
	for i, s := range spaces {
		limits[i] = -1
		if s.Memory > 0 {
			limits[i] = s.Memory
		}
		for name, n := range c.Options.MaxMemory {
			d := c.Targets.Get(name)
			if name != s.Name && (d == nil || d.Home() != s.Name) {
				continue
			}
			if limits[i] < 0 || n < limits[i] {
				limits[i] = n
			}
		}
	}
	return limits
}

// AssumedWorkers returns the workers that the cost model reckons with.
func AssumedWorkers(c *Context, d *target.Descriptor) int {
	h := max(d.Hint, 1)
	if c.Options.Threads > 0 {
		h = min(h, c.Options.Threads)
	}
	return h
}

// MostWorkers returns the most workers that the program may use.
func MostWorkers(c *Context, d *target.Descriptor) int {
	if c.Options.Threads > 0 {
		return min(c.Options.Threads, max(d.Threads, 1))
	}
	return max(d.Threads, 1)
}

// TooLarge is the error for what no allocation holds.
func TooLarge(name string, need, limit int64) error {
	return &BudgetError{Name: name, Need: need, Limit: limit, Own: true,
		Advice: fmt.Sprintf("the largest allocation is %d bytes: lower --ctx or --batch, quantize, or pin it to another target", limit)}
}
