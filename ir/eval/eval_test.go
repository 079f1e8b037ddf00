package eval_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/irtest"
)

// in are inputs or weights by name.
type in = map[string]eval.Tensor

func vec(xs ...float64) eval.Tensor { return eval.Of(xs, len(xs)) }

func mat(rows int, xs ...float64) eval.Tensor { return eval.Of(xs, rows, len(xs)/rows) }

func parse(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, err := ir.Parse("test.ggir", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// near reports whether two slices are equal up to rounding in float64.
func near(got, want []float64) bool {
	return slices.EqualFunc(got, want, func(g, w float64) bool {
		return g == w || math.Abs(g-w) <= 1e-12*max(1, math.Abs(w))
	})
}

// TestOpsComputeTheirFormulas compares each op with numbers worked out by hand.
func TestOpsComputeTheirFormulas(t *testing.T) {
	e := math.Exp
	silu := func(x float64) float64 { return x / (1 + e(-x)) }
	r := 1 / math.Sqrt(12.5+0.5) // of the row 3 4 with eps 0.5
	tests := []struct {
		name, text string
		in         in
		want       eval.Tensor
	}{
		{"neg", "neg %x", in{"x": vec(1, -2)}, vec(-1, 2)},
		{"abs", "abs %x", in{"x": vec(1, -2)}, vec(1, 2)},
		{"exp", "exp %x", in{"x": vec(0, 1)}, vec(1, math.E)},
		{"log", "log %x", in{"x": vec(1, 0)}, vec(0, math.Inf(-1))},
		{"sqrt", "sqrt %x", in{"x": vec(9, 2)}, vec(3, math.Sqrt2)},
		{"square", "square %x", in{"x": vec(3, -2)}, vec(9, 4)},
		{"relu", "relu %x", in{"x": vec(3, -2)}, vec(3, 0)},
		{"silu", "silu %x", in{"x": vec(1, -1)}, vec(1/(1+e(-1)), -1/(1+math.E))},
		{"gelu", "gelu %x", in{"x": vec(0, 1)}, vec(0, 0.8411919906082768)},
		{"tanh", "tanh %x", in{"x": vec(0, 1)}, vec(0, (e(2)-1)/(e(2)+1))},
		{"sigmoid", "sigmoid %x", in{"x": vec(0, 1)}, vec(0.5, 1/(1+e(-1)))},
		{"scale", "scale %x {scale=0.5, bias=3}", in{"x": vec(2, -2)}, vec(4, 2)},
		{"add row", "add %x, %w", in{"x": mat(2, 1, 2, 3, 4), "w": vec(10, 20)}, mat(2, 11, 22, 13, 24)},
		{"add column", "add %x, %w", in{"x": mat(2, 1, 2, 3, 4), "w": mat(2, 10, 20)}, mat(2, 11, 12, 23, 24)},
		{"sub", "sub %x, %w", in{"x": vec(1, 2), "w": vec(3, 5)}, vec(-2, -3)},
		{"mul", "mul %x, %w", in{"x": vec(2, 3), "w": eval.Of([]float64{4})}, vec(8, 12)},
		{"div", "div %x, %w", in{"x": vec(2, 3), "w": vec(4, 2)}, vec(0.5, 1.5)},
		{"max", "max %x, %w", in{"x": vec(2, 3), "w": vec(4, -2)}, vec(4, 3)},
		{"min", "min %x, %w", in{"x": vec(2, 3), "w": vec(4, -2)}, vec(2, -2)},
		{"swiglu", "swiglu %x, %w", in{"x": vec(1, 0), "w": vec(4, 2)}, vec(4*silu(1), 0)},
		{"matmul", "matmul %x, %w", in{"x": mat(2, 1, 2, 3, 4), "w": mat(3, 1, 0, 0, 1, 1, 1)}, mat(2, 1, 2, 3, 3, 4, 7)},
		{"matmul residual", "matmul %x, %w, %b", in{"x": vec(1, 2), "w": mat(1, 3, 4), "b": vec(100)}, vec(111)},
		{"matmul_swiglu", "matmul_swiglu %x, %w, %b", in{"x": vec(1, 2), "w": mat(1, 3, 4), "b": mat(1, 1, 1)}, vec(3 * silu(11))},
		{"rms_norm", "rms_norm %x, %w {eps=0.5}", in{"x": mat(1, 3, 4), "w": vec(1, 10)}, mat(1, 3*r, 40*r)},
		{"layer_norm", "layer_norm %x, %w {eps=0}", in{"x": mat(1, 1, 3), "w": vec(1, 10)}, mat(1, -1, 10)},
		{"layer_norm bias", "layer_norm %x, %w, %b {eps=3}", in{"x": mat(1, 1, 3), "w": vec(1, 10), "b": vec(7, 8)}, mat(1, 6.5, 13)},
		{"softmax", "softmax %x", in{"x": mat(2, 1000, 1000, 0, math.Log(3))}, mat(2, 0.5, 0.5, 0.25, 0.75)},
		{"reduce_sum", "reduce_sum %x", in{"x": mat(2, 1, 2, 3, 5)}, mat(2, 3, 8)},
		{"reduce_mean", "reduce_mean %x", in{"x": mat(2, 1, 2, 3, 5)}, mat(2, 1.5, 4)},
		{"reduce_max", "reduce_max %x", in{"x": mat(2, 1, 2, -3, -5)}, mat(2, 2, -3)},
		{"gather", "gather %x, %i", in{"x": mat(3, 1, 2, 3, 4, 5, 6), "i": vec(2, 0)}, mat(2, 5, 6, 1, 2)},
		{"rope_table", "rope_table %i, %w {scale=2}", in{"i": vec(0, 3), "w": vec(0.5)}, eval.Of([]float64{2, 0, 2 * math.Cos(1.5), 2 * math.Sin(1.5)}, 2, 1, 2)},
		{"reshape", "reshape %x {shape=[3, 2]}", in{"x": mat(2, 1, 2, 3, 4, 5, 6)}, mat(3, 1, 2, 3, 4, 5, 6)},
		{"permute", "permute %x {perm=[1, 0]}", in{"x": mat(2, 1, 2, 3, 4, 5, 6)}, mat(3, 1, 4, 2, 5, 3, 6)},
		{"slice", "slice %x {axis=1, start=1, len=2}", in{"x": mat(2, 1, 2, 3, 4, 5, 6)}, mat(2, 2, 3, 5, 6)},
		{"concat", "concat %x, %w {axis=1}", in{"x": mat(2, 1, 2), "w": mat(2, 3, 4, 5, 6)}, mat(2, 1, 3, 4, 2, 5, 6)},
		{"copy", "copy %x", in{"x": vec(1, 2)}, vec(1, 2)},
		{"cast", "cast %x {to=bf16}", in{"x": vec(1, 1.0078125, 1.0039)}, vec(1, 1.0078125, 1)},
		{"constant", "constant \"0000803f000000c0\" : f32[2]", in{}, vec(1, -2)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := parse(t, "func @f("+params(tt.in)+") {\n  %y = "+tt.text+"\n  return %y\n}\n")
			got, err := eval.Run(t.Context(), m, "f", &eval.Env{Inputs: tt.in})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got[0].Shape, tt.want.Shape) || !near(got[0].Flat(), tt.want.Flat()) {
				t.Errorf("got %v %v, want %v %v", got[0].Shape, got[0].Flat(), tt.want.Shape, tt.want.Flat())
			}
		})
	}
}

// params declares the inputs x, w, b as f32 and i as i32.
func params(inputs in) string {
	var out []string
	for _, name := range []string{"x", "w", "b", "i"} {
		x, ok := inputs[name]
		if !ok {
			continue
		}
		d := "f32"
		if name == "i" {
			d = "i32"
		}
		var dims []string
		for _, n := range x.Shape {
			dims = append(dims, ir.Const(int64(n)).String())
		}
		out = append(out, "%"+name+": "+d+"["+strings.Join(dims, ",")+"]")
	}
	return strings.Join(out, ", ")
}

// TestRopeRotatesNeighboursOrHalves turns by a quarter, so that (a, b) becomes (-b, a).
func TestRopeRotatesNeighboursOrHalves(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60} // two heads of six, four of them turned
	for _, tt := range []struct {
		neox string
		want []float64
	}{
		{"false", []float64{-2, 1, -4, 3, 5, 6, -20, 10, -40, 30, 50, 60}},
		{"true", []float64{-3, -4, 1, 2, 5, 6, -30, -40, 10, 20, 50, 60}},
	} {
		m := parse(t, "func @f(%x: f32[1,2,6], %t: f32[1,2,2]) {\n  %y = rope %x, %t {neox="+tt.neox+"}\n  return %y\n}\n")
		got, err := eval.Run(t.Context(), m, "f", &eval.Env{Inputs: in{"x": eval.Of(x, 1, 2, 6), "t": eval.Of([]float64{0, 1, 0, 1}, 1, 2, 2)}})
		if err != nil {
			t.Fatal(err)
		}
		if !near(got[0].Flat(), tt.want) {
			t.Errorf("neox=%s: %v, want %v", tt.neox, got[0].Flat(), tt.want)
		}
	}
}

const cacheText = `
symbol T 1 4
state "k" : f32[1,1,4,1]
func @f(%x: f32[T,1,1], %q: f32[T,2,1], %slot: i32[T], %pos: i32[T], %len: i32[1]) {
  %s = state "k"
  %n = state_write %s, %x, %slot, %pos
  %y = attention %q, %n, %n, %slot, %pos, %len {scale=1}
  return %y, %s
}
`

func cacheInputs(n int, pos, length float64, x ...float64) in {
	posns := make([]float64, n)
	for i := range posns {
		posns[i] = pos + float64(i)
	}
	return in{"x": eval.Of(x, n, 1, 1), "q": eval.New(n, 2, 1), "slot": eval.New(n), "pos": vec(posns...), "len": vec(length)}
}

func TestStatesPersist(t *testing.T) {
	m := parse(t, cacheText)
	env := &eval.Env{Inputs: cacheInputs(2, 0, 4, 10, 20)}
	got, err := eval.Run(t.Context(), m, "f", env)
	if err != nil {
		t.Fatal(err)
	}
	// With q = 0 all weights are equal: attention is the mean of what is seen.
	if want := []float64{10, 10, 15, 15}; !near(got[0].Flat(), want) {
		t.Errorf("first call: %v, want %v", got[0].Flat(), want)
	}
	if old := got[1].Flat(); !near(old, []float64{0, 0, 0, 0}) {
		t.Errorf("the version before the write is %v, want zeros", old)
	}

	env.Inputs = cacheInputs(1, 2, 4, 60)
	if got, err = eval.Run(t.Context(), m, "f", env); err != nil {
		t.Fatal(err)
	}
	if want := []float64{30, 30}; !near(got[0].Flat(), want) {
		t.Errorf("second call: %v, want %v", got[0].Flat(), want)
	}
	if want := []float64{10, 20, 60, 0}; !near(env.States["k"].Flat(), want) {
		t.Errorf("the state is %v, want %v", env.States["k"].Flat(), want)
	}

	// Positions from the length on are not read.
	env.Inputs = cacheInputs(1, 2, 1, 60)
	if got, err = eval.Run(t.Context(), m, "f", env); err != nil || !near(got[0].Flat(), []float64{10, 10}) {
		t.Errorf("with length 1: %v, error %v, want 10 10", got, err)
	}
}

func TestFailedCallsKeepStates(t *testing.T) {
	// The write succeeds; then an index is out of range.
	m := parse(t, strings.Replace(cacheText, "  %y = attention", "  %w = weight \"w\" : f32[1,4]\n  %z = gather %w, %pos\n  %y = attention", 1))
	env := &eval.Env{Inputs: cacheInputs(2, 0, 4, 10, 20), Weights: in{"w": eval.New(1, 4)}}
	if _, err := eval.Run(t.Context(), m, "f", env); err == nil || env.States != nil {
		t.Errorf("error %v, states %v", err, env.States)
	}
}

const repeatText = `
symbol T 1 4
func @double(%a: f32[T]) {
  %y = add %a, %a
  return %y
}
func @f(%x: f32[T], %i: f32[1]) {
  %w0 = weight "w0" : f32[1]
  %w1 = weight "w1" : f32[1]
  %w2 = weight "w2" : f32[1]
  %r = repeat %x, %i, %w0, %w1, %w2 {count=3, carried=1, invariant=1}
  body @round(%c: f32[T], %v: f32[1], %w: f32[1]) {
    %m = mul %c, %v
    %a = add %m, %w
    return %a
  }
  %y = call @double %r
  return %y
}
`

func TestRepeatAndCallRunTheirFunctions(t *testing.T) {
	m := parse(t, repeatText)
	env := &eval.Env{
		Inputs:  in{"x": vec(1, 2), "i": vec(10)},
		Weights: in{"w0": vec(1), "w1": vec(2), "w2": vec(3)},
	}
	got, err := eval.Run(t.Context(), m, "f", env)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{2 * 1123, 2 * 2123}; !near(got[0].Flat(), want) {
		t.Errorf("got %v, want %v", got[0].Flat(), want)
	}
}

// TestQuantizedFormatsRound checks that activations are rounded as their format rounds.
func TestQuantizedFormatsRound(t *testing.T) {
	x := eval.New(1, 32)
	x.Data[0], x.Data[1], x.Data[2] = 127, 1.5, -2.4
	m := parse(t, "func @f(%x: f32[1,32]) {\n  %y = quantize %x\n  return %y\n}\n")
	got, err := eval.Run(t.Context(), m, "f", &eval.Env{Inputs: in{"x": x}})
	if err != nil {
		t.Fatal(err)
	}
	if y := got[0].Flat()[:4]; !near(y, []float64{127, 2, -2, 0}) {
		t.Errorf("got %v, want 127 2 -2 0", y)
	}
}

func TestErrorsNameFunctionAndNode(t *testing.T) {
	const f = "symbol n 1 4\nsymbol k 1 4\nfunc @f(%x: f32[n,2], %i: i32[n]) {\n  %y = gather %x, %i\n  return %y\n}\n"
	good := in{"x": mat(2, 1, 2, 3, 4), "i": vec(0, 1)}
	with := func(name string, x eval.Tensor) in {
		c := in{"x": good["x"], "i": good["i"]}
		c[name] = x
		return c
	}
	tests := []struct {
		name, text, fn string
		env            *eval.Env
		want           string
	}{
		{"no function", f, "g", &eval.Env{}, "the module has no function @g"},
		{"no inputs", f, "f", &eval.Env{}, "@f: parameter %i has no input\nparameter %x has no input"},
		{"unknown input", f, "f", &eval.Env{Inputs: with("z", vec(1))}, "@f: there is no parameter %z"},
		{"rank", f, "f", &eval.Env{Inputs: with("x", vec(1, 2))}, "@f: parameter %x has rank 2, its input shape [2]"},
		{"two sizes", f, "f", &eval.Env{Inputs: with("i", vec(0, 1, 1))}, "@f: parameter %i: symbol n is 3 here and 2 elsewhere"},
		{"bound", f, "f", &eval.Env{Inputs: in{"x": eval.New(5, 2), "i": eval.New(5)}}, "@f: symbol n is 5: it must be in [1,4]"},
		{"constant extent", f, "f", &eval.Env{Inputs: with("x", mat(2, 1, 2, 3, 4, 5, 6))}, "@f: parameter %x: its shape is [2 3], the type f32[n,2] makes it [2 2]"},
		{"fraction", f, "f", &eval.Env{Inputs: with("i", vec(0, 0.5))}, "@f: parameter %i is i32, its input holds fractions"},
		{"index", f, "f", &eval.Env{Inputs: with("i", vec(0, 2))}, "@f: %y: gather: idx[1] is 2: it must be in [0,2)"},
		{"unknown size", "symbol k 1 4\nfunc @f(%x: f32[4]) {\n  %y = slice %x {axis=0, start=k-1, len=1}\n  return %y\n}\n", "f",
			&eval.Env{Inputs: in{"x": eval.New(4)}}, "@f: %y: slice: the size of symbol k is unknown: no input's shape tells it, give it in Sizes"},
		{"weight", "func @f() {\n  %w = weight \"w\" : f32[2]\n  return %w\n}\n", "f", &eval.Env{}, "@f: %w: weight: no weight \"w\" was given"},
		{"weight's shape", "func @f() {\n  %w = weight \"w\" : f32[2]\n  return %w\n}\n", "f", &eval.Env{Weights: in{"w": vec(1)}},
			"@f: %w: weight: its shape is [1], the type f32[2] makes it [2]"},
		{"no number", "func @f(%x: f32[32]) {\n  %y = quantize %x\n  return %y\n}\n", "f", &eval.Env{Inputs: in{"x": filled(32, math.NaN())}},
			"@f: %y: quantize: element 0 is NaN: cannot be quantized"},
		{"foreign", "func @f(%x: f32[1]) {\n  %y = foreign \"MUL_MAT\" %x : f32[1]\n  return %y\n}\n", "f", &eval.Env{Inputs: in{"x": vec(1)}},
			"@f: %y: foreign: MUL_MAT: its meaning is unknown"},
		{"position", cacheText, "f", &eval.Env{Inputs: cacheInputs(1, 4, 4, 1)}, "@f: %n: state_write: pos[0] is 4: it must be in [0,4)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := eval.Run(t.Context(), parse(t, tt.text), tt.fn, tt.env)
			if err == nil || err.Error() != tt.want {
				t.Errorf("error %v\nwant  %s", err, tt.want)
			}
		})
	}
}

func filled(n int, x float64) eval.Tensor {
	t := eval.New(n)
	for i := range t.Data {
		t.Data[i] = x
	}
	return t
}

func TestSizesComeFromEnvIfNoShapeHasThem(t *testing.T) {
	m := parse(t, "symbol k 1 4\nfunc @f(%x: f32[4]) {\n  %y = slice %x {axis=0, start=k-1, len=1}\n  return %y\n}\n")
	got, err := eval.Run(t.Context(), m, "f", &eval.Env{Inputs: in{"x": vec(1, 2, 3, 4)}, Sizes: map[string]int64{"k": 3}})
	if err != nil || !near(got[0].Flat(), []float64{3}) {
		t.Errorf("got %v, error %v", got, err)
	}
}

// TestSizesMayBeZero runs a function on arrays without elements.
func TestSizesMayBeZero(t *testing.T) {
	m := parse(t, "symbol n 0 4\nfunc @f(%x: f32[n,3]) {\n  %y = softmax %x\n  return %y\n}\n")
	got, err := eval.Run(t.Context(), m, "f", &eval.Env{Inputs: in{"x": eval.New(0, 3)}})
	if err != nil || !slices.Equal(got[0].Shape, []int{0, 3}) {
		t.Errorf("got %v, error %v", got, err)
	}
}

func TestRunStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := parse(t, "func @f(%x: f32[1]) {\n  %y = neg %x\n  return %y\n}\n")
	if _, err := eval.Run(ctx, m, "f", &eval.Env{Inputs: in{"x": vec(1)}}); err == nil {
		t.Error("no error")
	}
}

func TestNodeComputesOneNode(t *testing.T) {
	m := parse(t, "func @f(%x: f32[2]) {\n  %y = neg %x\n  return %y\n}\n")
	got, err := eval.Node(t.Context(), m.Funcs[0].Nodes[0], []eval.Tensor{vec(1, 2)}, nil)
	if err != nil || !near(got[0].Flat(), []float64{-1, -2}) {
		t.Errorf("got %v, error %v", got, err)
	}
}

// TestRandomProgramsAgreeWithTheirText runs random programs as they are, and parsed from their text form.
func TestRandomProgramsAgreeWithTheirText(t *testing.T) {
	for seed := range uint64(10) {
		p, err := irtest.Random(seed, 20)
		if err != nil {
			t.Fatal(err)
		}
		want, err := p.Run(t.Context(), p.Module)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Run(t.Context(), parse(t, p.Module.String()))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.SameResults(got, want, ir.Tolerance{}); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}
