package pass

import (
	"github.com/ggmlc/ggmlc/passes/target"
)

// SpaceLimits returns the bytes that the plan may take in each space: the least of the memory that the targets have
// there, and of the limits of the user for the space and for the backends whose results go there. -1 is no limit.
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

// AssumedWorkers returns the number of workers that the cost model assumes.
func AssumedWorkers(c *Context, d *target.Descriptor) int {
	h := max(d.Hint, 1)
	if c.Options.Threads > 0 {
		h = min(h, c.Options.Threads)
	}
	return h
}

// MostWorkers returns the largest number of workers that the program may use.
func MostWorkers(c *Context, d *target.Descriptor) int {
	if c.Options.Threads > 0 {
		return min(c.Options.Threads, max(d.Threads, 1))
	}
	return max(d.Threads, 1)
}
