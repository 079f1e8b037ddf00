package kirtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// Random returns a random kernel. An error is a fault of this package or of kir.
func Random(r *rand.Rand, o Options) (*Case, error) {
	if o.Threads == 0 {
		o.Threads = 64
		if o.Caps&kir.CapSlab != 0 {
			o.Threads = kir.SlabThreads
		}
	}
	if o.Size == 0 {
		o.Size = 12
	}
	g := &generator{Builder: kir.NewBuilder("random", o.Threads), r: r, o: o}
	g.c = &Case{Groups: 1 + r.IntN(3), In: input(r), N: int32(r.IntN(8))}
	g.in, g.out, g.n = g.Arg("in", kir.U64), g.Arg("out", kir.U64), g.Arg("n", kir.I32)
	g.thread = g.Thread()
	g.index = g.Add(g.Mul(g.Group(), g.Int(o.Threads)), g.thread)
	g.pool = []*kir.Value{g.n, g.thread, g.index, g.NumGroups()}
	g.statements(o.Size)
	g.store()
	var err error
	if g.c.Kernel, err = g.Kernel(); err != nil {
		return nil, fmt.Errorf("%w\n%v", err, g.c.Kernel)
	}
	return g.c, nil
}

// generator builds one kernel.
type generator struct {
	*kir.Builder
	r          *rand.Rand
	o          Options
	c          *Case
	in, out, n *kir.Value
	thread     *kir.Value
	index      *kir.Value   // of the thread among those of all workgroups
	pool       []*kir.Value // visible values
	nested     int          // blocks around the current one
	diverged   int          // blocks among them that not all threads run, or not equally often
	shared     int          // bytes
	arrays     int
}

// one calls one of the functions.
func one[T any](r *rand.Rand, choices ...func() T) T { return choices[r.IntN(len(choices))]() }

func (g *generator) statements(n int) {
	for range n {
		g.statement()
	}
}

// statement adds something to the current block.
func (g *generator) statement() {
	switch g.r.IntN(13) {
	case 0, 1:
		g.store()
	case 2:
		g.branch()
	case 3:
		g.loop()
	case 4:
		g.exchange()
	case 5:
		g.count()
	case 6:
		g.acrossSubgroup()
	case 7:
		g.copies()
	case 8:
		g.products()
	case 9:
		g.slabs()
	default:
		g.pool = append(g.pool, g.value(g.anyType(), 0))
	}
}

// anyType returns a type of values; bool is one of them.
func (g *generator) anyType() kir.Type {
	lanes := []int{1, 1, 1, 2, 4}[g.r.IntN(5)]
	switch n := g.r.IntN(14); {
	case n == 0:
		return kir.Scalar(kir.Bool)
	case n < 4:
		return kir.Type{Kind: kir.F32, Lanes: lanes}
	case n < 7:
		return kir.Type{Kind: kir.I32, Lanes: lanes}
	default:
		return kir.Type{Kind: inKinds[g.r.IntN(len(inKinds))], Lanes: lanes}
	}
}

func (g *generator) memoryType() kir.Type {
	for {
		if t := g.anyType(); t.Kind != kir.Bool {
			return t
		}
	}
}

// result reserves an array of results and returns the address of its first element.
func (g *generator) result(t kir.Type, n int) *kir.Value {
	at := (g.c.Out + 31) / 32 * 32
	g.c.Out = at + n*t.Bytes()
	g.c.Results = append(g.c.Results, Result{at, t, n})
	return g.Add(g.out, g.Bits(kir.U64, uint64(at)))
}

// store stores a value where only this thread stores.
func (g *generator) store() {
	t := g.memoryType()
	array := g.result(t, g.c.Groups*g.o.Threads)
	g.Store(g.At(array, g.index, t.Bytes()), g.value(t, 0))
}

// count adds to a counter. What was there before depends on the order of threads, so it is not used.
func (g *generator) count() {
	g.AtomicAdd(g.result(kir.Scalar(kir.U32), 1), g.value(kir.Scalar(kir.U32), 1))
}

// block builds a nested block that not all threads may run if diverges is 1.
func (g *generator) block(diverges int, fill func()) {
	visible := len(g.pool)
	g.nested++
	g.diverged += diverges
	fill()
	g.diverged -= diverges
	g.nested--
	g.pool = g.pool[:visible]
}

// condition returns a bool, and 1 if it may differ between threads.
func (g *generator) condition() (cond *kir.Value, diverges int) {
	if g.r.IntN(2) == 0 {
		return g.Lt(g.n, g.Int(g.r.IntN(8))), 0
	}
	return g.value(kir.Scalar(kir.Bool), 0), 1
}

func (g *generator) branch() {
	if g.nested > 2 {
		return
	}
	cond, diverges := g.condition()
	if g.r.IntN(2) == 0 {
		g.If(cond, func() { g.block(diverges, func() { g.statements(1 + g.r.IntN(3)) }) })
		return
	}
	yields := g.yieldTypes()
	side := func() (out []*kir.Value) {
		g.block(diverges, func() {
			g.statements(g.r.IntN(3))
			out = g.values(yields)
		})
		return out
	}
	g.pool = append(g.pool, g.Choose(cond, side, side)...)
}

func (g *generator) yieldTypes() []kir.Type {
	var out []kir.Type
	for range g.r.IntN(4) {
		out = append(out, g.anyType())
	}
	return out
}

func (g *generator) values(ts []kir.Type) []*kir.Value {
	var out []*kir.Value
	for _, t := range ts {
		out = append(out, g.value(t, 1))
	}
	return out
}

// loop adds a for with few iterations.
func (g *generator) loop() {
	if g.nested > 2 {
		return
	}
	to, diverges := g.Int(g.r.IntN(6)), 0
	switch g.r.IntN(3) {
	case 0:
		to = g.n
	case 1:
		to, diverges = g.And(g.value(kir.Scalar(kir.I32), 1), g.Int(3)), 1
	}
	carried := g.yieldTypes()
	results := g.For(g.Int(g.r.IntN(3)-1), to, g.Int(1+g.r.IntN(3)), g.values(carried), func(i *kir.Value, c []*kir.Value) (next []*kir.Value) {
		g.block(diverges, func() {
			g.pool = append(append(g.pool, i), c...)
			g.statements(g.r.IntN(4))
			next = g.values(carried)
		})
		return next
	})
	g.pool = append(g.pool, results...)
}

// exchange lets threads read from shared memory what others stored there. All threads of a workgroup have to run it.
func (g *generator) exchange() {
	t := g.memoryType()
	if g.diverged > 0 || !g.fits(g.o.Threads*t.Bytes()) {
		return
	}
	array := g.array(t, g.o.Threads)
	g.SharedStore(array, g.thread, g.value(t, 0))
	g.Barrier()
	other := g.Rem(g.And(g.value(kir.Scalar(kir.I32), 1), g.Int(0xffff)), g.Int(g.o.Threads))
	g.pool = append(g.pool, g.SharedLoad(array, other))
	g.Barrier()
}

// fits reports whether shared memory has room for another array.
func (g *generator) fits(bytes int) bool { return g.shared+bytes <= 24<<10 }

func (g *generator) array(t kir.Type, n int) *kir.Shared {
	g.shared += n*t.Bytes() + 16
	g.arrays++
	return g.NewShared(fmt.Sprintf("s%d", g.arrays), t, n)
}

// acrossSubgroup adds operations of subgroups whose results are the same for every size of subgroups, if lanes are
// consecutive threads and subgroups are full.
func (g *generator) acrossSubgroup() {
	if g.diverged > 0 || g.o.Caps&kir.CapSubgroup == 0 {
		return
	}
	k := []kir.Kind{kir.I32, kir.U32, kir.F32}[g.r.IntN(3)]
	constant := g.Bits(k, scalarBits(g.r, k))
	g.pool = append(g.pool,
		g.ShuffleXor(g.value(kir.Scalar(k), 0), 1+g.r.IntN(3)),
		g.ReduceMax(constant),
		g.Eq(g.ReduceAdd(g.Int(1)), g.Lanes()),
		g.Eq(g.Add(g.Mul(g.Subgroup(), g.Lanes()), g.Lane()), g.thread))
}
