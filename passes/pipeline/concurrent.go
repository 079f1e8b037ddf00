package pipeline

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// maxTogether is how many nodes of a queue may run at the same time. Each is compared with all others.
const maxTogether = 16

// together is nodes of a queue that may run at the same time: they follow each other, and none touches bytes that
// another one writes. In
//
//	%q = matmul %n, %wq   writes [0x000,0x100)
//	%k = matmul %n, %wk   writes [0x100,0x180)   concurrent: both only read %n
//	%r = rope %q, %t      writes [0x000,0x100)   begins when %k has ended: it reads and overwrites %q
//	%s = rope %k, %t      writes [0x100,0x180)   concurrent with %r
//
// there are two groups of two.
type together struct {
	memory *memory
	nodes  []*ir.Node
	reads  []byteRange
	writes []byteRange
}

// runTogether marks the nodes of f, and of the bodies in it, that may run at the same time as the nodes before them on
// their queue.
func runTogether(c *pass.Context, bytes *memory, f *ir.Func, in *Iteration) {
	g := &together{memory: bytes}
	for _, n := range f.Nodes {
		switch {
		case !flow.DoesWork(n):
		case n.Body != nil:
			runTogether(c, bytes, n.Body, &Iteration{Repeat: n, Outer: in})
			g.begin()
		default:
			g.place(c, n, in)
		}
	}
}

// begin begins a group without nodes.
func (g *together) begin() { g.nodes, g.reads, g.writes = g.nodes[:0], g.reads[:0], g.writes[:0] }

// place adds n to the group, or begins a group with it. If n can be in no group, it begins a group without nodes.
func (g *together) place(c *pass.Context, n *ir.Node, in *Iteration) {
	if !canJoin(n) || !c.Target(n).Concurrent {
		g.begin()
		return
	}
	var reads, writes []byteRange // of n
	for _, v := range n.Sources() {
		if v != nil {
			reads = g.memory.appendRanges(reads, v, in, 0)
		}
	}
	for _, v := range n.Results {
		writes = g.memory.appendRanges(writes, v, in, 0)
	}
	conflict := meet(writes, g.reads) || meet(writes, g.writes) || meet(reads, g.writes)
	if g.admits(n) && !conflict && c.Allow(pass.RuleSyncTogether, n) {
		n.Submit.Concurrent = true
		c.Cause(n, pass.RuleSyncTogether, g.nodes[0].String())
		c.Count("concurrent", 1)
	} else {
		g.begin()
	}
	g.nodes, g.reads, g.writes = append(g.nodes, n), append(g.reads, reads...), append(g.writes, writes...)
}

// admits reports whether n may run at the same time as the group, as far as the bytes that it touches allow it.
func (g *together) admits(n *ir.Node) bool {
	if len(g.nodes) == 0 || len(g.nodes) == maxTogether || len(n.Submit.Waits) > 0 {
		return false
	}
	last := g.nodes[len(g.nodes)-1]
	return last.Submit.Event == 0 && last.Queue() == n.Queue() && last.Split == n.Split
}

// canJoin reports whether a node is one that a queue computes.
func canJoin(n *ir.Node) bool {
	return n.Queue() != "" && n.Op != ir.OpCopy && n.Op != ir.OpCopyExperts && n.Op != ir.OpForeign
}

// meet reports whether some ranges of two lists have common bytes.
func meet(a, b []byteRange) bool {
	return slices.ContainsFunc(a, func(x byteRange) bool {
		return slices.ContainsFunc(b, func(y byteRange) bool { return x.area == y.area && x.lo < y.hi && y.lo < x.hi })
	})
}
