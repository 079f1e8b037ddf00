package shard

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/passes/check/parts"
	"github.com/ggmlc/ggmlc/passes/shard"
)

// product returns a module with one sum, of rows times columns elements, over so many terms.
func product(rows, columns, terms int64) string {
	return fmt.Sprintf(`ggir 1
props imported,shaped
source m "m.gguf" 0
weight "w" : f32[%[2]d,%[3]d] = m["w"]
func @f(%%x: f32[%[1]d,%[3]d]) -> (y: f32[%[1]d,%[2]d]) {
  %%w = weight "w" : f32[%[2]d,%[3]d]
  %%y = matmul %%x, %%w : f32[%[1]d,%[2]d]
  return %%y
}
`, rows, columns, terms)
}

// TestSumsAreAddedInTheirOrder adds up values of random sizes on 2, 3, 4 and 8 devices, of which some have no share. On
// every device the sum has to be, bit for bit, what adding the devices' summands in the stated order gives.
func TestSumsAreAddedInTheirOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	differ := make(map[ir.SumOrder]bool)
	for _, devices := range []int{2, 3, 4, 8} {
		for i := range 12 {
			rows, columns := 1+r.Int64N(3), []int64{1, 2, 3, 5, 7, 64, 129, 200}[r.IntN(8)]
			counts := make([]int64, devices)
			for j := range counts {
				if counts[j] = r.Int64N(4); i%3 == 0 {
					counts[j] = 3 // even
				}
			}
			counts[r.IntN(devices)]++
			for _, order := range ir.SumOrders() {
				name := fmt.Sprintf("%v, %d times %d on devices with %v terms", order, rows, columns, counts)
				got, summands := addedUp(t, name, rows, columns, counts, order)
				want := stated(order, summands, int(columns))
				for j, v := range got {
					if !sameBits(v, want) {
						t.Errorf("%s: device %d has %v, want %v", name, j, v, want)
					}
				}
				differ[order] = differ[order] || !sameBits(want, stated(ir.SumDirect, summands, int(columns)))
			}
		}
	}
	if differ[ir.SumFirst] || !differ[ir.SumTree] || !differ[ir.SumRing] {
		t.Errorf("orders whose sums differ from that of devices: %v", differ)
	}
}

func sameBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// addedUp computes a product on devices that have so many terms of its sum each. It returns what every device has in
// the end, and the summands of the devices that have one.
func addedUp(t *testing.T, name string, rows, columns int64, counts []int64, order ir.SumOrder) (got, summands [][]float64) {
	terms := int64(0)
	for _, n := range counts {
		terms += n
	}
	m, err := ir.Parse("product", []byte(product(rows, columns, terms)))
	if err != nil {
		t.Fatal(err)
	}
	state := ir.SplitOn(1, ir.Segment{Times: 1, Counts: counts})
	after, _, err := shard.SpreadIn(m, len(counts), map[string]ir.Sharding{"w": state}, order)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	f := after.Funcs[0]
	made := make(map[string]*ir.Value)
	for _, n := range f.Nodes {
		made[n.Result().Name()] = n.Result()
	}
	var ask []*ir.Value
	number := map[ir.ShardKind]int{}
	for _, kind := range []ir.ShardKind{ir.ShardMirrored, ir.ShardPartial} {
		for _, p := range f.Parts {
			for _, n := range p.Names {
				if v := made[n]; p.Of == "y" && p.State.Kind == kind && v != nil {
					ask = append(ask, v)
					number[kind]++
				}
			}
		}
	}
	if len(ask) == 0 { // one device has the whole sum
		return nil, [][]float64{nil}
	}
	if number[ir.ShardMirrored] == 0 { // of which all read one
		ask, number[ir.ShardMirrored] = append(slices.Clone(f.Results), ask...), 1
	}
	f.Results = nil
	for i, v := range ask {
		f.AddResult(fmt.Sprint("r", i), v)
	}
	all := evaluated(t, after, rows, columns, terms)
	return all[:number[ir.ShardMirrored]], all[number[ir.ShardMirrored]:]
}

// evaluated runs a written-out product on random numbers.
func evaluated(t *testing.T, m *ir.Module, rows, columns, terms int64) (all [][]float64) {
	r := rand.New(rand.NewPCG(5, 6))
	random := func(shape ...int) eval.Tensor {
		list := make([]float64, shape[0]*shape[1])
		for i := range list {
			list[i] = r.NormFloat64() * math.Exp2(float64(r.IntN(20)))
		}
		return eval.Of(list, shape...)
	}
	env := &eval.Env{Weights: map[string]eval.Tensor{"w": random(int(columns), int(terms))},
		Inputs: map[string]eval.Tensor{"x": random(int(rows), int(terms))}}
	if err := addParts(m, env); err != nil {
		t.Fatal(err)
	}
	results, err := eval.Run(t.Context(), m, "f", env)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range results {
		all = append(all, x.Flat())
	}
	return all
}

// stated adds summands of rows of n elements in an order.
func stated(order ir.SumOrder, summands [][]float64, n int) []float64 {
	sum := make([]float64, len(summands[0]))
	for i := range sum {
		terms := make([]float64, len(summands))
		for k, s := range summands {
			terms[k] = s[i]
		}
		switch order {
		case ir.SumTree:
			sum[i] = pairwise(terms)
		case ir.SumRing:
			first := ringStart(i%n, n, len(terms))
			sum[i] = oneByOne(slices.Concat(terms[first:], terms[:first]))
		default:
			sum[i] = oneByOne(terms)
		}
	}
	return sum
}

func oneByOne(terms []float64) float64 {
	sum := terms[0]
	for _, x := range terms[1:] {
		sum += x
	}
	return sum
}

func pairwise(terms []float64) float64 {
	for len(terms) > 1 {
		var next []float64
		for p := range slices.Chunk(terms, 2) {
			next = append(next, oneByOne(p))
		}
		terms = next
	}
	return terms[0]
}

// ringStart returns the number of the summand with which element e of n begins: the one after the chunk's.
func ringStart(e, n, parts int) int {
	begin := make([]int, parts)
	for i := range begin {
		if begin[i] = n * i / parts; n >= 16*parts {
			begin[i] = begin[i] / 16 * 16
		}
	}
	chunk := 0
	for i, b := range begin {
		if b <= e {
			chunk = i
		}
	}
	return (chunk + 1) % parts
}

// TestCheckObjectsToMutantsOfSums changes sums in each order in all ways of the list, and in those of sumMutants.
func TestCheckObjectsToMutantsOfSums(t *testing.T) {
	for _, order := range ir.SumOrders() {
		found := make(map[string]int)
		for _, shares := range [][]float64{{1, 1}, {2, 1, 1}, {1, 0, 1, 2, 1}} {
			before, after := layersIn(t, twoLayers, shares, order)
			if len(shares) < 5 {
				checkMutants(t, before, after, mutants(before, after), fmt.Sprint(order, shares), found)
			}
			for _, m := range sumMutants(after) {
				changed := after.Clone()
				m.change(changed)
				if ir.Verify(changed) != nil {
					continue
				}
				if found[m.kind]++; parts.Check(before, changed) == nil {
					t.Errorf("%v, shares %v: %s, and nothing is reported", order, shares, m.what)
				}
			}
		}
		t.Logf("%v: reported %v", order, found)
		for _, kind := range []string{"summand", "operand", "dropped step", "swapped order", "added twice"} {
			if found[kind] == 0 {
				t.Errorf("%v: no mutant of the kind %s is reported", order, kind)
			}
		}
		if order == ir.SumRing && (found["slice"] == 0 || found["exchange"] == 0 || found["wrong chunk"] == 0) {
			t.Errorf("mutants of chunks: %v", found)
		}
	}
}

// twoLayers has two feed-forward layers with residuals, so that every device reads the first sum.
const twoLayers = `ggir 1
props imported,shaped
source m "m.gguf" 0
weight "up" : f32[12,8] = m["up"] divide "ffn" 0 12 [12]
weight "down" : f32[8,12] = m["down"] divide "ffn" 1 12 [12]
func @f(%x: f32[3,8], %slot: i32[3], %pos: i32[3], %lengths: i32[1]) -> (z: f32[3,8]) {
  %up = weight "up" : f32[12,8]
  %down = weight "down" : f32[8,12]
  %a = matmul %x, %up : f32[3,12]
  %b = silu %a : f32[3,12]
  %c = matmul %b, %down : f32[3,8]
  %y = add %x, %c : f32[3,8]
  %d = matmul %y, %up : f32[3,12]
  %e = matmul %d, %down : f32[3,8]
  %z = add %y, %e : f32[3,8]
  return %z
}
`

func isRead(f *ir.Func, v *ir.Value) bool {
	return slices.Contains(f.Results, v) || slices.ContainsFunc(f.Nodes, func(n *ir.Node) bool { return slices.Contains(n.Args, v) })
}

// sumMutants returns changes of the exchange of sums that may leave the result as it is, but for the order of additions.
func sumMutants(m *ir.Module) (list []mutant) {
	f := m.Funcs[0]
	for i, n := range f.Nodes {
		if name := n.Result().Name(); n.Op != ir.OpAdd || name == "y@0" || name == "z@0" || !isRead(f, n.Result()) {
			continue // y@0 and z@0 are no exchange: the first device adds the residual
		}
		list = append(list,
			mutant{"swapped order", fmt.Sprintf("%v has its operands exchanged", n), func(m *ir.Module) {
				args := m.Funcs[0].Nodes[i].Args
				args[0], args[1] = args[1], args[0]
			}},
			mutant{"added twice", fmt.Sprintf("%v adds its first operand to itself", n), func(m *ir.Module) {
				args := m.Funcs[0].Nodes[i].Args
				args[1] = args[0]
			}},
			mutant{"dropped step", fmt.Sprintf("%v is left out", n), func(m *ir.Module) { dropSummand(m.Funcs[0], i) }})
		for k, later := range f.Nodes[i+1:] {
			if later.Op == ir.OpAdd && later.Args[0] == n.Result() && later.Args[1].Type.Equal(n.Args[1].Type) {
				list = append(list, mutant{"swapped order", fmt.Sprintf("%v and %v have exchanged what they add", n, later), func(m *ir.Module) {
					a, b := m.Funcs[0].Nodes[i], m.Funcs[0].Nodes[i+1+k]
					a.Args[1], b.Args[1] = b.Args[1], a.Args[1]
				}})
			}
		}
	}
	for i, n := range f.Nodes {
		if a, ok := n.Attr.(*ir.SliceAttr); ok {
			if start, _ := a.Start.IsConst(); start > 0 {
				list = append(list, mutant{"wrong chunk", fmt.Sprintf("%v takes the first elements", n), func(m *ir.Module) {
					m.Funcs[0].Nodes[i].Attr.(*ir.SliceAttr).Start = ir.Const(0)
				}})
			}
		}
	}
	return list
}
