package check_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/check"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Sizes of the small llama.
const (
	heads, kvHeads, headSize       = 4, 2, 16
	width, hidden, vocabulary, ctx = heads * headSize, 96, 64, 6
)

// smallLlama builds @prefill and @decode of a llama with so many layers and matrices of a
// dtype.
func smallLlama(t testing.TB, layers int, d dtype.DType) *ir.Module {
	t.Helper()
	b := ir.NewBuilder("small")
	tokens := b.Symbol("tokens", 1, 4)
	typ := func(d dtype.DType, shape ...int64) ir.Type { return ir.Type{DType: d, Shape: ir.Dims(shape...)} }
	weight := func(name string, d dtype.DType, shape ...int64) { b.Weight(name, typ(d, shape...), nil) }
	weight("embd", dtype.F32, vocabulary, width)
	weight("freqs", dtype.F32, headSize/2)
	weight("norm", dtype.F32, width)
	weight("out", d, vocabulary, width)
	for l := range layers {
		name := func(s string) string { return fmt.Sprintf("blk.%d.%s", l, s) }
		weight(name("an"), dtype.F32, width)
		weight(name("q"), d, width, width)
		weight(name("k"), d, kvHeads*headSize, width)
		weight(name("v"), d, kvHeads*headSize, width)
		weight(name("o"), d, width, width)
		weight(name("fn"), dtype.F32, width)
		weight(name("gate"), d, hidden, width)
		weight(name("up"), d, hidden, width)
		weight(name("down"), d, width, hidden)
		for _, s := range []string{"kc", "vc"} {
			b.State(name(s), typ(dtype.F16, 1, kvHeads, ctx, headSize))
		}
	}
	llamaFunc(b, "prefill", layers, tokens)
	llamaFunc(b, "decode", layers, ir.Const(1))
	m, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func llamaFunc(b *ir.Builder, name string, layers int, tokens ir.Dim) {
	f := b.Func(name)
	ints := func(n ir.Dim) ir.Type { return ir.Type{DType: dtype.I32, Shape: []ir.Dim{n}} }
	ids, pos, slot := f.Param("ids", ints(tokens)), f.Param("pos", ints(tokens)), f.Param("slot", ints(tokens))
	lengths := f.Param("lengths", ints(ir.Const(1)))
	x := f.Gather(f.Weight("embd"), ids)
	table := f.RopeTable(pos, f.Weight("freqs"), 1)
	split := func(v *ir.Value, n int64) *ir.Value { return f.Reshape(v, tokens, ir.Const(n), ir.Const(headSize)) }
	for l := range layers {
		w := func(s string) *ir.Value { return f.Weight(fmt.Sprintf("blk.%d.%s", l, s)) }
		cache := func(s string, v *ir.Value) *ir.Value {
			return f.StateWrite(f.State(fmt.Sprintf("blk.%d.%s", l, s)), v, slot, pos, 0)
		}
		h := f.RMSNorm(x, w("an"), 1e-5)
		q := f.Rope(split(f.MatMul(h, w("q")), heads), table, ir.RopeAttr{})
		k := cache("kc", f.Rope(split(f.MatMul(h, w("k")), kvHeads), table, ir.RopeAttr{}))
		v := cache("vc", split(f.MatMul(h, w("v")), kvHeads))
		a := f.Reshape(f.Attention(q, k, v, slot, pos, lengths, nil, ir.AttentionAttr{Scale: 0.25}), tokens, ir.Const(width))
		x = f.Add(x, f.MatMul(a, w("o")))
		h = f.RMSNorm(x, w("fn"), 1e-5)
		x = f.Add(x, f.MatMul(f.SwiGLU(f.MatMul(h, w("gate")), f.MatMul(h, w("up"))), w("down")))
	}
	last := f.Slice(x, 0, tokens.Sub(ir.Const(1)), ir.Const(1))
	f.Return("logits", f.MatMul(f.RMSNorm(last, f.Weight("norm"), 1e-5), f.Weight("out")))
}

// tableless builds a loop that does the same in each iteration, and a loop in it.
func tableless(t testing.TB) *ir.Module {
	t.Helper()
	b := ir.NewBuilder("loop")
	tokens := b.Symbol("tokens", 1, 4)
	for _, name := range []string{"w", "inner"} {
		b.Weight(name, ir.Type{DType: dtype.F32, Shape: ir.Dims(width, width)}, nil)
	}
	f := b.Func("f")
	x := f.Param("x", ir.Type{DType: dtype.F32, Shape: []ir.Dim{tokens, ir.Const(width)}})
	first := f.MatMul(x, f.Weight("w"))
	y := f.Repeat(7, []*ir.Value{first, f.Neg(x)}, []*ir.Value{f.Tanh(x)}, nil, func(f *ir.FuncBuilder, carried, fixed, _ []*ir.Value) []*ir.Value {
		h := f.MatMul(carried[0], f.Weight("w"))
		z := f.Repeat(5, []*ir.Value{f.Add(h, carried[1])}, []*ir.Value{fixed[0]}, nil, func(f *ir.FuncBuilder, carried, fixed, _ []*ir.Value) []*ir.Value {
			return []*ir.Value{f.Add(f.Softmax(f.MatMul(carried[0], f.Weight("inner"))), fixed[0])}
		})
		return []*ir.Value{f.Mul(h, f.SiLU(z[0])), f.Copy(h)}
	})
	f.Return("y", f.MatMul(y[0], f.Weight("w")))
	f.Return("z", f.Exp(y[1]))
	m, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Targets of the tests.
const (
	onlyCPU   = "target cpu like=cpu\n"
	withGPU   = "target gpu space=dev ops=matmul,add,mul,rms_norm,exp,silu\ntarget cpu like=cpu\n"
	twoGPUs   = "target g0 space=d0 queues=2 events=true concurrent=true ops=matmul,rms_norm,swiglu,rope,rope_table,copy\ntarget g1 space=d1 queues=1 events=true ops=add,state_write,attention,gather,copy\ntarget cpu space=host workers=true threads=64 ops=*\n"
	noEvents  = "target g0 space=d0 queues=2 events=false ops=matmul,rms_norm,swiglu,copy\ntarget g1 space=d1,host queues=1 events=true ops=add,gather,copy\ntarget cpu space=host workers=true threads=64 ops=*\n"
	aroundCPU = "target g0 space=d0 queues=2 events=true concurrent=true ops=gather,rope_table,copy\ntarget cpu space=host workers=true threads=64 ops=*\n"
	eagerOnes = "target cpu like=cpu barrier=1e-9\n"
	// segments of 2 of the 6 positions
	segmented = "target cpu space=host workers=true threads=64 segment=2 flops=1e9 barrier=1e-12 ops=*\n"
)

func parseTargets(t testing.TB, text string) *target.List {
	t.Helper()
	list, err := target.Parse("targets", text)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// errRefused means that the passes do not plan such a module.
var errRefused = errors.New("refused")

// planned runs all passes up to check, which the caller does.
func planned(m *ir.Module, targets *target.List, disable ...string) error {
	return plannedWith(m, targets, pass.Options{Disable: disable})
}

func plannedWith(m *ir.Module, targets *target.List, o pass.Options) error {
	_, err := passes.Run(context.Background(), m, passes.RunOptions{Targets: targets, Before: "check", Options: o})
	var bug *pass.InternalError
	if err != nil && !errors.As(err, &bug) {
		return fmt.Errorf("%w: %v", errRefused, err)
	}
	return err
}

func checked(m *ir.Module, targets *target.List) error {
	return check.Check(context.Background(), m, targets)
}
