package group

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/shard/foreign"
	"github.com/ggmlc/ggmlc/passes/shard/foreign/foreigntest"
	"github.com/ggmlc/ggmlc/passes/shard/ggml"
)

var rounds = flag.Int("rounds", 10000, "random graphs of TestCheckAgreesWithLabels")

// TestCheckAgreesWithLabels runs random graphs of moves on labels: each element of a weight has a label of its own, on
// the whole and in the memory of each device, and an op makes a label from the labels that it reads. The check has to
// object exactly where the labels of an output differ.
func TestCheckAgreesWithLabels(t *testing.T) {
	rounds := *rounds
	if testing.Short() {
		rounds /= 5
	}
	right, wrong := 0, 0
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 21))
		c := chain{r: r, devices: 1 + r.IntN(4)}
		steps := c.steps()
		f, values, given := foreigntest.Build(t, steps)
		d, err := ggml.Derive(f, c.devices, given)
		if err != nil {
			continue
		}
		found, err := Check(f, d)
		if err != nil {
			t.Fatal(err)
		}
		o := newLabels(t, f, d)
		ok := o.run()
		if ok {
			right++
		} else {
			wrong++
		}
		if ok != (len(found) == 0) {
			t.Errorf("seed %d: right %v, found %v", seed, ok, found)
			for i, s := range steps {
				t.Logf("%s %s %v nb %v of %v at %d src %v: %v", values[i], s.Op, s.NE, s.NB, s.Of, s.Offset, s.Src, foreign.Flip(d.State(values[i])))
			}
			if t.Failed() && right+wrong > 0 {
				return
			}
		}
	}
	t.Logf("%d graphs are right, %d wrong", right, wrong)
	if right < rounds/20 || wrong < rounds/200 {
		t.Errorf("only %d graphs are right and %d wrong", right, wrong)
	}
}

// chain makes random graphs.
type chain struct {
	r       *rand.Rand
	devices int
	list    []foreigntest.Step
	strides [][4]int64 // of each step, in elements
	roots   []int
}

func (c *chain) steps() []foreigntest.Step {
	ne := c.shape()
	c.add(foreigntest.Weight(c.state(ne), ne[:]...), dense(ne), 0)
	for range 1 + c.r.IntN(5) {
		c.step()
	}
	c.node("SQR", c.last().NE)
	c.list[len(c.list)-1].Output = true
	return c.list
}

// extents are products of small primes, so that shapes and parts often fit.
var extents = []int64{1, 1, 2, 3, 4, 4, 6, 8, 12}

func (c *chain) shape() (ne [4]int64) {
	n := int64(1)
	for i := range ne {
		if ne[i] = extents[c.r.IntN(len(extents))]; n*ne[i] > 200 {
			ne[i] = 1
		}
		n *= ne[i]
	}
	return ne
}

// state returns a random division of a random axis.
func (c *chain) state(ne [4]int64) ir.Sharding {
	axis := c.r.IntN(4)
	for k := 0; ne[axis] == 1 && k < 4; k++ {
		axis = (axis + 1) % 4
	}
	s := ir.Sharding{Kind: ir.ShardSplit, Axis: axis}
	left := ne[axis]
	for left > 0 {
		times, n := int64(1), left
		if c.r.IntN(3) == 0 && left%2 == 0 {
			if times = 2; c.r.IntN(2) == 0 {
				times, n = 1, left/2
			} else {
				n = left / 2
			}
		}
		s.Segments = append(s.Segments, ir.Segment{Times: times, Counts: c.counts(n)})
		left -= times * n
	}
	return s
}

// counts divides n elements at random.
func (c *chain) counts(n int64) []int64 {
	counts := make([]int64, c.devices)
	for j := range counts {
		counts[j] = c.r.Int64N(n + 1)
		if c.r.IntN(3) > 0 {
			counts[j] = min(n, n/int64(c.devices))
		}
		n -= counts[j]
	}
	counts[c.r.IntN(c.devices)] += n
	return counts
}

func dense(ne [4]int64) (s [4]int64) {
	n := int64(1)
	for i, e := range ne {
		s[i] = n
		n *= e
	}
	return s
}

func (c *chain) last() *foreigntest.Step { return &c.list[len(c.list)-1] }

func (c *chain) add(s foreigntest.Step, strides [4]int64, root int) {
	if s.Op != "" {
		for i := range s.NB {
			s.NB[i] = 4 * strides[i]
		}
	}
	c.list, c.strides, c.roots = append(c.list, s), append(c.strides, strides), append(c.roots, root)
}

// node appends a node with its own memory.
func (c *chain) node(op string, ne [4]int64, more ...int) {
	src := append([]int{len(c.list) - 1}, more...)
	c.add(foreigntest.Step{Op: op, NE: ne, Src: src}, dense(ne), len(c.list))
}

// view appends a view of the last step.
func (c *chain) view(op string, ne, strides [4]int64, offset int64, params string) {
	i := len(c.list) - 1
	c.add(foreigntest.Step{Op: op, NE: ne, Src: []int{i}, Of: c.roots[i], Offset: c.list[i].Offset + 4*offset, Params: params}, strides, c.roots[i])
}

// step appends a random node or view.
func (c *chain) step() {
	x, strides := c.last(), c.strides[len(c.list)-1]
	contiguous := strides == dense(x.NE)
	switch k := c.r.IntN(9); {
	case k == 0 && contiguous:
		ne := c.reshape(x.NE)
		c.view("RESHAPE", ne, dense(ne), 0, "")
	case k == 1:
		c.permute(x.NE, strides)
	case k == 2:
		c.slice(x.NE, strides)
	case k == 3 && contiguous:
		c.range1(x.NE)
	case k == 4:
		c.node("CONT", c.reshape(x.NE))
	case k == 5:
		c.list = append(c.list, foreigntest.Weight(c.state(x.NE), x.NE[:]...))
		c.strides, c.roots = append(c.strides, dense(x.NE)), append(c.roots, len(c.list)-1)
		last := len(c.list) - 1
		c.add(foreigntest.Step{Op: "ADD", NE: x.NE, Src: []int{last - 1, last}}, dense(x.NE), last+1)
	case k == 6:
		c.node("SUM_ROWS", [4]int64{1, x.NE[1], x.NE[2], x.NE[3]})
	case k == 7:
		ne := x.NE
		ne[c.r.IntN(4)] *= 2
		c.node("REPEAT", ne)
	case k == 8:
		c.node("SQR", x.NE)
	}
}

// reshape moves a factor from one dimension to another, a few times.
func (c *chain) reshape(ne [4]int64) [4]int64 {
	for range 1 + c.r.IntN(3) {
		from, to := c.r.IntN(4), c.r.IntN(4)
		for _, f := range []int64{ne[from], 2, 3} {
			if ne[from]%f == 0 && c.r.IntN(2) == 0 {
				ne[from] /= f
				ne[to] *= f
				break
			}
		}
	}
	return ne
}

func (c *chain) permute(ne, strides [4]int64) {
	var n, s [4]int64
	to := c.r.Perm(4)
	if c.r.IntN(2) == 0 {
		to = []int{0, 2, 1, 3}
	}
	for i, t := range to {
		n[t], s[t] = ne[i], strides[i]
	}
	c.view("PERMUTE", n, s, 0, fmt.Sprintf("to=%d,%d,%d,%d", to[0], to[1], to[2], to[3]))
}

// slice takes a part of one dimension.
func (c *chain) slice(ne, strides [4]int64) {
	d := c.r.IntN(4)
	parts := int64(1 + c.r.IntN(3))
	if ne[d]%parts != 0 {
		return
	}
	n := ne
	n[d] /= parts
	c.view("VIEW", n, strides, c.r.Int64N(parts)*n[d]*strides[d], "")
}

// range1 takes a run of elements, as one dimension.
func (c *chain) range1(ne [4]int64) {
	total := ne[0] * ne[1] * ne[2] * ne[3]
	parts := int64(1 + c.r.IntN(4))
	if total%parts != 0 {
		return
	}
	n := [4]int64{total / parts, 1, 1, 1}
	if c.r.IntN(2) == 0 && n[0]%2 == 0 {
		n = [4]int64{n[0] / 2, 2, 1, 1}
	}
	c.view("VIEW", n, dense(n), c.r.Int64N(parts)*total/parts, "")
}

// labels runs a graph on labels: at -1 the whole, then each device.
type labels struct {
	t      *testing.T
	g      *foreign.Graph
	d      *ggml.Division
	memory map[*foreign.Tensor][][]int // of roots: of the whole, then of each device
	names  map[string]int
	stops  bool
}

func newLabels(t *testing.T, f *ir.Func, d *ggml.Division) *labels {
	g, err := foreign.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return &labels{t: t, g: g, d: d, memory: make(map[*foreign.Tensor][][]int), names: make(map[string]int)}
}

// run reports whether all outputs are right.
func (o *labels) run() bool {
	ok := true
	for _, t := range o.g.Tensors {
		switch {
		case t.Kept:
			o.load(t)
		case t.ViewOf == nil:
			o.compute(t)
		}
		if o.stops {
			return false
		}
		if t.Output {
			ok = ok && o.readBack(t)
		}
	}
	return ok
}

func (o *labels) label(parts ...any) int {
	key := fmt.Sprint(parts...)
	if _, ok := o.names[key]; !ok {
		o.names[key] = len(o.names)
	}
	return o.names[key]
}

// load gives each element of a weight a label, and each device those of its part.
func (o *labels) load(t *foreign.Tensor) {
	all := make([]int, t.Elems())
	for i := range all {
		all[i] = o.label(t.Value, " ", i)
	}
	o.memory[t] = append([][]int{all}, o.scatter(t, all)...)
}

// scatter returns the elements that the state of t gives each device, in order.
func (o *labels) scatter(t *foreign.Tensor, all []int) [][]int {
	s := foreign.Flip(o.d.State(t.Value))
	lists := make([][]int, o.d.Devices)
	if !s.IsSplit() {
		for j := range lists {
			lists[j] = all
		}
		return lists
	}
	below := t.UpTo(s.Axis) / t.NE[s.Axis]
	owner := owners(s)
	for i, l := range all {
		j := owner[int64(i)/below%t.NE[s.Axis]]
		lists[j] = append(lists[j], l)
	}
	return lists
}

// owners returns the device of each element of the split axis.
func owners(s ir.Sharding) []int {
	var list []int
	for _, seg := range s.Segments {
		for range seg.Times {
			for j, n := range seg.Counts {
				list = append(list, slices.Repeat([]int{j}, int(n))...)
			}
		}
	}
	return list
}

// read returns the elements of t in order, of the whole (0) or a device.
func (o *labels) read(t *foreign.Tensor, at int) []int {
	p := foreign.Part{NE: t.NE, NB: t.NB, Offset: t.Offset}
	if at > 0 {
		p = o.d.Parts(t.Value)[at-1]
	}
	var list []int
	mem := o.memory[root(t)][at]
	for i3 := range p.NE[3] {
		for i2 := range p.NE[2] {
			for i1 := range p.NE[1] {
				for i0 := range p.NE[0] {
					bytes := p.Offset + i0*p.NB[0] + i1*p.NB[1] + i2*p.NB[2] + i3*p.NB[3]
					o.stops = o.stops || bytes%4 != 0
					list = append(list, get(mem, int(bytes/4)))
				}
			}
		}
	}
	return list
}

// compute computes t on the whole and on each device that does not skip it.
func (o *labels) compute(t *foreign.Tensor) {
	for at := range o.d.Devices + 1 {
		ne, skip := t.NE, false
		if at > 0 {
			ne = o.d.Parts(t.Value)[at-1].NE
			skip = slices.Contains(o.d.Off, [2]int{t.Pos, at - 1})
		}
		var list []int
		if skip {
			list = slices.Repeat([]int{-1}, int(ne[0]*ne[1]*ne[2]*ne[3]))
		} else {
			list = o.apply(t, at, ne)
		}
		o.memory[t] = append(o.memory[t], list)
	}
}

func (o *labels) apply(t *foreign.Tensor, at int, ne [4]int64) []int {
	x := o.read(t.Source(0), at)
	total := int(ne[0] * ne[1] * ne[2] * ne[3])
	from := t.Source(0).NE
	if at > 0 {
		from = o.d.Parts(t.Source(0).Value)[at-1].NE
	}
	list := make([]int, total)
	for i := range list {
		switch t.Op {
		case "CONT":
			o.stops = o.stops || len(x) != total
			list[i] = get(x, i)
		case "SQR":
			o.stops = o.stops || from != ne
			list[i] = o.label("sqr ", get(x, i))
		case "ADD":
			y := o.read(t.Source(1), at)
			o.stops = o.stops || len(x) != total || len(y) != total
			list[i] = o.label("add ", get(x, i), " ", get(y, i))
		case "SUM_ROWS":
			n := int(from[0])
			o.stops = o.stops || len(x) != total*n
			list[i] = o.label("sum ", x[min(i*n, len(x)):min((i+1)*n, len(x))])
		case "REPEAT":
			list[i] = get(x, repeatedIndex(i, ne, from))
		default:
			o.t.Fatalf("no labels for %s", t.Op)
		}
	}
	return list
}

// repeatedIndex returns the element of a smaller tensor that repeats at element i.
func repeatedIndex(i int, ne, from [4]int64) int {
	at, below := 0, 1
	for d := range ne {
		at += i % int(ne[d]) % int(from[d]) * below
		i /= int(ne[d])
		below *= int(from[d])
	}
	return at
}

func get(list []int, i int) int {
	if i < len(list) {
		return list[i]
	}
	return -1
}

// readBack reports whether the devices have the elements of an output that its state gives them.
func (o *labels) readBack(t *foreign.Tensor) bool {
	for j, want := range o.scatter(t, o.read(t, 0)) {
		if !slices.Equal(o.read(t, j+1), want) {
			return false
		}
	}
	return true
}
