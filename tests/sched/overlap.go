package sched

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// This file finds overlaps of live tensors at the addresses of a trace, from the trace alone. It uses neither our
// passes nor passes/check. The README next to the traces names the overlaps of its traces; this file also serves for
// other traces.

// Moments before and after all actions of a trace.
const (
	before = -1
	behind = math.MaxInt
)

// life describes the bytes of a tensor or of a copy according to the trace.
type life struct {
	of          *Tensor
	at          [2]int64 // buffer and offset
	first, last int      // indexes in the final order of the first write and of the last use
	by          *Tensor  // first writer, unless that is a copy
	copied      int      // for a copy: the tensor whose bytes it copies; otherwise -1
}

// overlaps reports whether two tensors or copies share bytes while both are live.
func (c *Case) overlaps() bool {
	lives := c.lives()
	for i := range lives {
		for j := range lives {
			if i != j && c.clash(lives, i, j) {
				return true
			}
		}
	}
	return false
}

// clash reports whether y overwrites x while x is still used. A result may take the place of a source that is read
// for the last time. A copy of rows without gaps may move them.
func (c *Case) clash(lives []life, i, j int) bool {
	x, y := &lives[i], &lives[j]
	switch {
	case x.of == nil || y.of == nil || x.first > y.first || x.first == y.first && i > j:
		return false
	case x.at[0] != y.at[0] || x.at[1] >= y.at[1]+y.of.Bytes || y.at[1] >= x.at[1]+x.of.Bytes:
		return false
	case x.last != y.first:
		return x.last > y.first
	case y.copied >= 0:
		return y.copied != i || !y.of.dense()
	}
	return y.by == nil || x.at != y.at || !c.mayTake(y.by, x.of, i)
}

// mayTake reports whether the result of t may take the bytes of a source: life i, which is tensor x or a copy of it.
// The bytes of a view are not taken.
func (c *Case) mayTake(t, x *Tensor, i int) bool {
	direct := i >= len(c.Tensors) || slices.ContainsFunc(t.Src, func(s *int) bool { return s != nil && *s == i })
	return direct && slices.Contains(takers, t.Op) && x.Type == t.Type && x.NE == t.NE && x.strides() == t.strides()
}

// strides returns the strides of the tensor, with 0 for dimensions of one element.
func (t *Tensor) strides() [4]int64 {
	nb := t.NB
	for i, n := range t.NE {
		if n == 1 {
			nb[i] = 0
		}
	}
	return nb
}

// dense reports whether elements are contiguous and in row-major order, as passes/check defines it.
func (t *Tensor) dense() bool {
	typ, err := t.typ()
	return err == nil && typ.Dense()
}

// root returns the tensor that owns the bytes of tensor i.
func (c *Case) root(i int) int {
	if v := c.Tensors[i].ViewOf; v != nil {
		return *v
	}
	return i
}

// lives returns the life of each tensor, followed by that of each copy. A life has no tensor if its bytes are not
// placed or not used.
func (c *Case) lives() []life {
	e, n := &c.Expect, len(c.Tensors)
	lives := make([]life, n+len(e.Copies))
	for i := range c.Tensors {
		lives[i] = life{first: behind, last: before - 1, copied: -1}
		if t := &c.Tensors[i]; e.At[i] != nil && t.Bytes > 0 {
			lives[i].of, lives[i].at = t, *e.At[i]
		}
	}
	for k := range e.Copies {
		of := &c.Tensors[e.Copies[k].Of]
		lives[n+k] = life{at: e.Copies[k].At, first: behind, last: before - 1, copied: c.root(e.Copies[k].Of)}
		if of.Bytes > 0 {
			lives[n+k].of = of
		}
	}
	c.walk(lives)
	c.keep(lives)
	for i := range lives {
		if l := &lives[i]; l.last < l.first {
			if l.first == before || l.first == behind {
				l.of = nil // nothing uses it
			}
			l.last = l.first
		}
	}
	return lives
}

// walk records the uses of the final order.
func (c *Case) walk(lives []life) {
	rewired := make(map[[2]int]int)
	for _, r := range c.Expect.Rewired {
		rewired[[2]int{r[0], r[1]}] = len(c.Tensors) + r[2]
	}
	for pos, entry := range c.Expect.FinalNodes {
		use := func(i int) { lives[i].last = max(lives[i].last, pos) }
		if text, ok := entry.(string); ok {
			kind, number, _ := strings.Cut(text, " ")
			k, _ := strconv.Atoi(number)
			if kind == "copy" {
				lives[len(c.Tensors)+k].first = pos
				k = c.Expect.Copies[k].Of
			}
			use(c.root(k))
			continue
		}
		i := entryNumber(entry)
		t := &c.Tensors[i]
		if c.root(i) == i {
			lives[i].first, lives[i].by = pos, t
		}
		if t.isView() {
			continue
		}
		use(c.root(i))
		for k, s := range t.Src {
			if at, copied := rewired[[2]int{i, k}]; copied {
				use(at)
			} else if s != nil {
				use(c.root(*s))
			}
		}
	}
}

// entryNumber returns the number of a tensor in a final order.
func entryNumber(entry any) int {
	if f, ok := entry.(float64); ok {
		return int(f)
	}
	return entry.(int)
}

// isView reports whether a tensor has no bytes of its own.
func (t *Tensor) isView() bool {
	return slices.Contains([]string{"VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE"}, t.Op)
}

// keep records which bytes exist before the graph runs, and which are kept after it.
func (c *Case) keep(lives []life) {
	for i := range c.Tensors {
		t, l := &c.Tensors[i], &lives[i]
		several := c.Expect.Assign[i][1] == "4.cpy"
		if t.Op == "NONE" || several {
			l.first = before
		}
		if t.Output || several {
			l.last = behind
		}
	}
	if c.Copies > 1 {
		for k := range c.Expect.Copies {
			l := &lives[len(c.Tensors)+k]
			l.first, l.last = before, behind
		}
	}
}
