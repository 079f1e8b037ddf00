// Package scale measures how the cost of passes grows with the graph: 1,000 to 100,000 nodes over 8 backends, and
// graphs that have very many of one thing.
//
//	go test ./tests/scale -run '^$' -bench .
//
// prints seconds, bytes and, per step of ten, the exponent of time.
package scale

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Shape describes a graph.
type Shape struct {
	Nodes    int // with work
	Backends int // including the CPU
	Run      int // nodes between changes of the backend, on average; 1 is a chain in which each node changes it
	Fan      int // additional values that a run of nodes on a device reads from the host; 0 is none
}

// Targets returns the backends: devices with memory of their own, and the CPU.
func (s Shape) Targets() (*target.List, error) {
	var b strings.Builder
	for i := range s.Backends - 1 {
		fmt.Fprintf(&b, "target gpu%d space=dev%d ops=* queues=1 events=true align=128 flops=1e13 bandwidth=1e12 workerbw=1e12 launch=5e-6 link=2e10 linkdelay=1e-5\n", i, i)
	}
	b.WriteString("target cpu like=cpu\n")
	return target.Parse("scale", b.String())
}

// width is the size of rows: small, as nothing is computed.
const width = 64

// grower makes a graph of blocks, each with its weights on one backend.
type grower struct {
	r     *rand.Rand
	b     *ir.Builder
	f     *ir.FuncBuilder
	shape Shape
	space string
	made  int
	held  int // weights
	pool  []recent
}

// Module returns a graph of that shape: mostly a stream of values, each computed from recent ones, with some that are
// read much later.
func (s Shape) Module() (*ir.Module, error) {
	g := &grower{r: rand.New(rand.NewPCG(1, 2)), b: ir.NewBuilder("scale"), shape: s}
	g.f = g.b.Func("f")
	g.pool = append(g.pool, recent{v: g.f.Param("x", rows(1))})
	var late []*ir.Value
	if s.Fan > 0 {
		g.fan()
	}
	for g.made < s.Nodes {
		g.block()
		if s.Run > 1 && g.r.IntN(8) == 0 {
			late = append(late, g.pick())
		}
	}
	y := g.pick()
	for _, x := range g.pool {
		late = append(late, x.v)
	}
	for _, v := range late {
		y = g.f.Add(y, v)
	}
	g.f.Return("y", y)
	return g.b.Finish()
}

func rows(n int64) ir.Type { return ir.Type{DType: dtype.F32, Shape: ir.Dims(n, width)} }

// block adds nodes whose weights are in one space.
func (g *grower) block() {
	g.space = target.Host
	at := g.r.IntN(g.shape.Backends)
	if g.shape.Run == 1 {
		at = g.made % g.shape.Backends
	}
	if at < g.shape.Backends-1 {
		g.space = fmt.Sprintf("dev%d", at)
	}
	if g.shape.Run == 1 {
		g.made++
		g.pool = append(g.pool[:0], recent{v: g.f.MatMul(g.pool[0].v, g.weight(rows(width)))})
		return
	}
	for range 1 + g.r.IntN(2*g.shape.Run) {
		g.keep(g.node())
	}
}

// fan adds a run of nodes on the first device that reads very many values of the host.
func (g *grower) fan() {
	parts := make([]*ir.Value, g.shape.Fan)
	x := g.f.Param("fan", rows(1))
	for i := range parts {
		parts[i] = g.f.Named(fmt.Sprintf("part%d", i), g.f.Scale(x, float32(i), 1))
	}
	sum := x
	for i, p := range parts {
		sum = g.f.Named(fmt.Sprintf("sum%d", i), g.f.Add(sum, p))
	}
	g.keep(sum)
}

// pins places the nodes of fan on two backends.
func (s Shape) pins() (pins []pass.Pin, err error) {
	if s.Fan == 0 {
		return nil, nil
	}
	for _, text := range []string{"^part[0-9]+$=cpu", "^sum[0-9]+$=gpu0"} {
		p, err := pass.ParsePin(text)
		if err != nil {
			return nil, err
		}
		pins = append(pins, p)
	}
	return pins, nil
}

// node adds the next node. The first of a run has a weight, so that the rules place the node on the weight's backend.
func (g *grower) node() *ir.Value {
	g.made++
	switch g.r.IntN(6) {
	case 0, 1:
		return g.f.MatMul(g.pick(), g.weight(rows(width)))
	case 2:
		return g.f.RMSNorm(g.pick(), g.weight(rows(1).WithShape(ir.Const(width))), 1e-5)
	case 3:
		return g.f.SiLU(g.f.Reshape(g.f.Reshape(g.pick(), ir.Dims(2, width/2)...), ir.Dims(1, width)...))
	default:
		return g.f.Add(g.pick(), g.pick())
	}
}

func (g *grower) weight(t ir.Type) *ir.Value {
	t.Space = g.space
	name := fmt.Sprintf("w%d", g.held)
	g.held++
	g.b.Weight(name, t, nil)
	return g.f.Weight(name)
}

// recent is a value that may still be read. used reports whether it has been.
type recent struct {
	v    *ir.Value
	used bool
}

// pick returns a recent value.
func (g *grower) pick() *ir.Value {
	x := &g.pool[g.r.IntN(len(g.pool))]
	x.used = true
	return x.v
}

// keep makes v a recent value in place of one that has been read, so that no value is dead.
func (g *grower) keep(v *ir.Value) {
	const most = 6
	if len(g.pool) < most {
		g.pool = append(g.pool, recent{v: v})
		return
	}
	at := g.r.IntN(most)
	if old := &g.pool[at]; !old.used {
		v = g.f.Add(old.v, v)
		g.made++
	}
	g.pool[at] = recent{v: v}
}
