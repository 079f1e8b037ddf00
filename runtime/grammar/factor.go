package grammar

import (
	"slices"
	"strings"
)

// fork is an alternative that begins with a text.
type fork struct {
	text string
	rest sequence // after the text
}

// choice compiles alternatives. Alternatives that begin with texts share the instructions of common prefixes, so that a
// state has a thread for each next byte, not one for each alternative. This matters for a list of thousands of words.
func (c *compiler) choice(n choice, next int32) int32 {
	var starts []int32
	var forks []fork
	for _, part := range n {
		if text, rest := leading(part); text != "" {
			forks = append(forks, fork{text, rest})
		} else {
			starts = append(starts, c.node(part, next))
		}
	}
	slices.SortStableFunc(forks, func(a, b fork) int { return strings.Compare(a.text, b.text) })
	return c.split(append(starts, c.forks(forks, 0, next)...))
}

// leading returns the text that a part of a rule begins with, and what follows it.
func leading(n node) (text string, rest sequence) {
	switch n := n.(type) {
	case literal:
		return string(n), nil
	case sequence:
		if len(n) > 0 {
			text, rest = leading(n[0])
			return text, append(rest, n[1:]...)
		}
	}
	return "", nil
}

// forks compiles alternatives in the order of their texts, which have their first at bytes in common. It returns where
// they begin.
func (c *compiler) forks(list []fork, at int, next int32) (starts []int32) {
	for len(list) > 0 && c.err == nil {
		first := list[0].text
		if len(first) == at {
			starts = append(starts, c.node(list[0].rest, next))
			list = list[1:]
			continue
		}
		n := 1 // alternatives that continue with the same byte
		for n < len(list) && list[n].text[at] == first[at] {
			n++
		}
		common := commonPrefix(first, list[n-1].text) // and more of them, as the texts are in order
		after := c.split(c.forks(list[:n], common, next))
		starts = append(starts, c.bytes(first[at:common], after))
		list = list[n:]
	}
	return starts
}

// bytes compiles a text.
func (c *compiler) bytes(text string, next int32) int32 {
	for _, b := range slices.Backward([]byte(text)) {
		next = c.add(instruction{op: opByte, lo: b, hi: b, x: next})
	}
	return next
}
