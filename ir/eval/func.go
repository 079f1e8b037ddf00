package eval

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

func callFunc(c *call) ([]value, error) {
	return c.call(c.module.Func(attr[ir.CallAttr](c).Func), c.args, c.depth+1)
}

// repeat runs the body once for each iteration, with the carried values of the one before and its
// entries of the tables.
func repeat(c *call) ([]value, error) {
	a := attr[ir.RepeatAttr](c)
	fixed, count := a.Carried+a.Invariant, int(a.Count)
	args := slices.Clone(c.args[:fixed])
	tables := c.args[fixed:]
	for i := range count {
		iteration := slices.Clone(args)
		for t := i; t < len(tables); t += count {
			iteration = append(iteration, tables[t])
		}
		c.iteration = i
		carried, err := c.call(c.node.Body, iteration, c.depth+1)
		if err != nil {
			return nil, fmt.Errorf("iteration %d: %w", i, err)
		}
		copy(args, carried)
	}
	return args[:a.Carried], nil
}

// observe hands its operand out.
func observe(c *call) ([]value, error) {
	names := attr[ir.ObserveAttr](c).Names
	i := 0
	if c.node.Func.Owner != nil {
		i = c.iteration
	}
	if i >= len(names) {
		return nil, fmt.Errorf("iteration %d has no name", i)
	}
	if c.env.Handed != nil {
		c.env.Handed(names[i], c.args[0].Dense())
	}
	return nil, nil
}
