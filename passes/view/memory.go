package view

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/explain"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/plan"
)

// MemoryPage is the memory of an entry point over time. Time is counted in steps: nodes that do work, the body of each
// repeat once.
type MemoryPage struct {
	Func  string   `json:"func"`
	Steps []int    `json:"steps"`           // indexes of Document.Nodes
	Ticks []int    `json:"ticks"`           // of each step: a barrier is where this number grows
	Loops [][3]int `json:"loops,omitempty"` // first and last step of a body, and its iterations

	// Lives are the values that have bytes: arena, chunk, offset, bytes of all instances, index of Document.Nodes, the
	// first and last step in which nothing else may use the bytes, and the number of instances.
	Lives [][8]int64 `json:"lives"`
}

// memory returns the memory of an entry point of a module that was compiled under o; nil before plan.
func (d *Document) memory(f *ir.Func, o explain.Options) *MemoryPage {
	if f.Module.Plan == nil {
		return nil
	}
	t, lives := plan.Lives(f, o.Targets)
	p := &MemoryPage{Func: ir.QuoteName(f.Name)}
	before := make([]int, len(t.Steps)+1) // steps of the page before a position
	for i, s := range t.Steps {
		before[i] = len(p.Steps)
		if flow.DoesWork(s.Node) && !flow.RunsFunction(s.Node) {
			p.Steps = append(p.Steps, d.at[idOfNode(s.Node)])
			p.Ticks = append(p.Ticks, s.Tick())
		}
	}
	before[len(t.Steps)] = len(p.Steps)
	for i, s := range t.Steps {
		if s.Node.Op == ir.OpRepeat {
			last := i + 1
			for last < len(t.Steps) && isIn(t.Steps[last].Node.Func, s.Node.Body) {
				last++
			}
			p.Loops = append(p.Loops, [3]int{before[i], before[last] - 1, int(flow.Iterations(s.Node))})
		}
	}
	p.addLives(d, f, func(v *ir.Value) (first, last int) {
		live := lives(v)
		if live == plan.Never {
			return 0, -1
		}
		last = before[min(live.Last+1, len(t.Steps))] - 1
		return min(before[live.First], last), last
	})
	return p
}

// addLives adds the values of an entry point that have bytes. Inputs and outputs are the caller's during the whole
// call. Other steps may use instances at any time. What a table's parameter names, a weight or state, has its bytes for
// good.
func (p *MemoryPage) addLives(d *Document, f *ir.Func, live func(*ir.Value) (first, last int)) {
	for _, o := range flow.Origins(f) {
		kind, _ := flow.ParamKind(o)
		if o.Place == nil || kind == flow.ParamTable || kind == flow.ParamInvariant {
			continue
		}
		first, last := live(o)
		arena, slots := &f.Module.Plan.Arenas[o.Place.Arena], o.Slots()
		if arena.Class == ir.ClassIO || slots > 1 {
			first, last = 0, len(p.Steps)-1
		}
		if first <= last {
			at := *o.Place
			at.Bytes += int64(slots-1) * arena.Stride(o.Place)
			p.Lives = append(p.Lives, lifeOf(&at, d.at[idOf(o)], first, last, slots))
		}
	}
}

// isIn reports whether f is the body g, or a body in it.
func isIn(f, g *ir.Func) bool {
	for f != g && f.Owner != nil {
		f = f.Owner.Func
	}
	return f == g
}

func lifeOf(at *ir.Place, node, first, last, slots int) [8]int64 {
	return [8]int64{int64(at.Arena), int64(at.Chunk), at.Offset, at.Bytes, int64(node), int64(first), int64(last), int64(slots)}
}

// ArenaPage is an arena with what is in it for good.
type ArenaPage struct {
	Chunks []int64    `json:"chunks"`          // their bytes
	Lives  [][8]int64 `json:"lives,omitempty"` // weights and states
}

// arenas returns the arenas of the plan, in its order.
func (d *Document) arenas(m *ir.Module) []*ArenaPage {
	if m.Plan == nil {
		return nil
	}
	var list []*ArenaPage
	for i := range m.Plan.Arenas {
		list = append(list, &ArenaPage{Chunks: m.Plan.Arenas[i].Chunks})
	}
	add := func(name string, at *ir.Place) {
		if at != nil {
			a := list[at.Arena]
			a.Lives = append(a.Lives, lifeOf(at, d.at[ir.QuoteName(name)], 0, -1, 1))
		}
	}
	for _, w := range m.Weights {
		add(w.Name, w.Place)
	}
	for _, s := range m.States {
		add(s.Name, s.Place)
	}
	return list
}
