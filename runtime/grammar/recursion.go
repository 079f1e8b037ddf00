package grammar

import (
	"fmt"
	"slices"
	"strings"
)

// maxNamed is the largest number of rules of a cycle that an error names.
const maxNamed = 8

// checkRecursion reports rules that call themselves before they read a byte: their stacks would grow for ever.
func (c *compiler) checkRecursion() error {
	l := &lefts{compiler: c, empty: c.emptyAt(), ruleOf: make(map[int32]int), state: make([]progress, len(c.rules))}
	for i, start := range c.starts {
		l.ruleOf[start] = i
	}
	for i := range c.rules {
		if cycle := l.visit(i); cycle != nil {
			names := make([]string, len(cycle))
			for k, r := range cycle {
				names[k] = c.rules[r].name
			}
			if n := len(names); n > maxNamed {
				names = append(append(names[:maxNamed-1:maxNamed-1], fmt.Sprintf("%d others", n-maxNamed)), names[n-1])
			}
			return &SyntaxError{c.rules[cycle[0]].line, "left recursion: " + strings.Join(names, " begins with ") + ": write it as a repetition"}
		}
	}
	return nil
}

// emptyAt returns, by instruction, whether the end of its rule is reached from there without reading a byte.
func (c *compiler) emptyAt() []bool {
	users := make([][]int32, len(c.code)) // instructions that depend on one
	var todo []int32
	for at, in := range c.code {
		switch in.op {
		case opSplit, opCall:
			users[in.x] = append(users[in.x], int32(at))
			users[in.y] = append(users[in.y], int32(at))
		case opReturn:
			todo = append(todo, int32(at))
		}
	}
	empty := make([]bool, len(c.code))
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if empty[at] {
			continue
		}
		empty[at] = true
		for _, u := range users[at] {
			if in := c.code[u]; in.op == opSplit || empty[in.x] && empty[in.y] {
				todo = append(todo, u)
			}
		}
	}
	return empty
}

// progress is how far a depth-first search is with a rule.
type progress uint8

const (
	fresh progress = iota
	under
	finished
)

// lefts searches a cycle of rules that begin with each other.
type lefts struct {
	*compiler
	empty  []bool        // of emptyAt
	ruleOf map[int32]int // by start
	state  []progress
	path   []int
}

// visit returns a cycle, the first rule again at its end; nil if none is reached from rule i.
func (l *lefts) visit(i int) []int {
	switch l.state[i] {
	case finished:
		return nil
	case under:
		return append(slices.Clone(l.path[slices.Index(l.path, i):]), i)
	}
	l.state[i] = under
	l.path = append(l.path, i)
	for _, next := range l.begins(i) {
		if cycle := l.visit(next); cycle != nil {
			return cycle
		}
	}
	l.path = l.path[:len(l.path)-1]
	l.state[i] = finished
	return nil
}

// begins returns the rules that rule i may begin with.
func (l *lefts) begins(i int) []int {
	var list []int
	seen := make(map[int32]bool)
	todo := []int32{l.starts[i]}
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		switch in := l.code[at]; in.op {
		case opSplit:
			todo = append(todo, in.x, in.y)
		case opCall:
			list = append(list, l.ruleOf[in.x])
			if l.empty[in.x] {
				todo = append(todo, in.y)
			}
		}
	}
	return list
}
