package kir

import (
	"math"
	"strings"
	"testing"
)

// scale returns the kernel of the package comment.
func scale(t *testing.T) *Kernel {
	t.Helper()
	b := NewBuilder("scale_f32", 64)
	x, y, n := b.Arg("x", U64), b.Arg("y", U64), b.Arg("n", I32)
	i := b.Add(b.Mul(b.Group(), b.Int(64)), b.Thread())
	b.If(b.Lt(i, n), func() {
		b.Store(b.At(y, i, 4), b.Mul(b.Load(Scalar(F32), b.At(x, i, 4)), b.Float(2)))
	})
	k, err := b.Kernel()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestNumbersAreComputedOnce counts the instructions for sums that are known already. It also counts the instructions
// for unknown numbers: sums of other operands, sums that only the other branch has, and what an instruction reads from
// memory or from other threads.
func TestNumbersAreComputedOnce(t *testing.T) {
	b := NewBuilder("once", 32)
	x, n := b.Arg("x", U64), b.Arg("n", I32)
	first := b.Add(n, b.Int(1))
	for range 2 {
		b.Store(x, b.Add(n, b.Int(1)))
	}
	b.Store(x, b.Add(n, b.Int(2)))
	inner := func() []*Value { return []*Value{b.Add(b.Add(n, b.Int(1)), b.Int(3))} }
	b.Choose(b.Lt(n, first), inner, inner)
	b.Store(x, inner()[0])
	for range 2 {
		b.Store(x, b.Load(Scalar(I32), x))
		b.Store(x, b.ReduceAdd(n))
	}
	k, err := b.Kernel()
	if err != nil {
		t.Fatal(err)
	}
	text := k.String()
	for what, want := range map[string]int{" = const i32 1\n": 1, " = add ": 5, " = load ": 2, " = reduce_add ": 2} {
		if got := strings.Count(text, what); got != want {
			t.Errorf("%d times %q, want %d:\n%s", got, what, want, text)
		}
	}
}

func TestKernelIsPrinted(t *testing.T) {
	b := NewBuilder("sum", 32)
	x := b.Arg("x", U64)
	buf := b.NewShared("part", Scalar(F32), 32)
	s := b.For(b.Int(0), b.Int(8), b.Int(1), []*Value{b.Float(0)}, func(i *Value, c []*Value) []*Value {
		return []*Value{b.Add(c[0], b.Load(Scalar(F32), b.At(x, i, 4)))}
	})
	b.SharedStore(buf, b.Thread(), s[0])
	b.Barrier()
	k, err := b.Kernel()
	if err != nil {
		t.Fatal(err)
	}
	want := `kernel sum threads=32 args=(x: u64) {
  shared part: f32[32]
  %1 = const i32 0
  %2 = const i32 8
  %3 = const i32 1
  %4 = const f32 0
  %11 = for %5 = %1 to %2 step %3 carry (%6 = %4) {
    %7 = offset %5 {4}
    %8 = add %x, %7
    %9 = load f32 %8
    %10 = add %6, %9
    yield %10
  }
  %12 = thread
  shared_store part %12, %11
  barrier
}
`
	if got := k.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestVerifyFindsFaults(t *testing.T) {
	tests := []struct {
		name   string
		damage func(k *Kernel)
		want   string
	}{
		{"threads", func(k *Kernel) { k.Threads = 0 }, "0 threads"},
		{"order", func(k *Kernel) { in := k.Body.Instrs; in[0], in[2] = in[2], in[0] }, "not defined before it is used"},
		{"type", func(k *Kernel) { k.Args[2].Type.Kind = F32 }, "argument n is f32"},
		{"operand", func(k *Kernel) { k.Body.Instrs[2].Args[1] = k.Args[0] }, "operand 1 is a u64, not a i32"},
		{"barrier", func(k *Kernel) {
			body := k.Body.Instrs[len(k.Body.Instrs)-1].Body
			body.Instrs = append(body.Instrs, &Instr{Op: OpBarrier})
		}, "depends on the thread"},
		{"constant", func(k *Kernel) { k.Body.Instrs[1].Imm = 1 << 40 }, "is no i32"},
		{"leaked value", func(k *Kernel) {
			body := k.Body.Instrs[len(k.Body.Instrs)-1].Body
			k.Body.Instrs = append(k.Body.Instrs, &Instr{Op: OpStore, Args: []*Value{k.Args[0], body.Instrs[2].Results[0]}})
		}, "not defined before it is used"},
		{"name", func(k *Kernel) { k.Name = "a-b" }, `the name "a-b"`},
		{"value name", func(k *Kernel) { k.Args[0].Name = "a b" }, "the name %a b is taken, or not letters"},
		{"shared", func(k *Kernel) { k.Shared = []*Shared{{Name: "s", Elem: Vector(F32, 4), Len: math.MaxInt/16 + 1}} }, "at most 32768 bytes fit"}, // its bytes wrap around
		{"results", func(k *Kernel) { k.Body.Instrs[0].Results = nil }, "0 results instead of 1"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			k := scale(t)
			tt.damage(k)
			if err := Verify(k); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// TestUniformLoopsMayHaveBarriers compares loops whose bounds are the same for all threads with one whose are not.
func TestUniformLoopsMayHaveBarriers(t *testing.T) {
	loop := func(bound func(b *Builder) *Value) error {
		b := NewBuilder("k", 64)
		b.Arg("n", U64)
		b.For(b.Int(0), bound(b), b.Int(1), nil, func(*Value, []*Value) []*Value { b.Barrier(); return nil })
		_, err := b.Kernel()
		return err
	}
	if err := loop(func(b *Builder) *Value { return b.LoadUniform(Scalar(I32), b.k.Args[0]) }); err != nil {
		t.Error(err)
	}
	if err := loop((*Builder).NumGroups); err != nil {
		t.Error(err)
	}
	shared := func(index func(b *Builder) *Value) func(b *Builder) *Value {
		return func(b *Builder) *Value {
			s := b.NewShared("s", Scalar(I32), 64)
			b.SharedStore(s, b.Thread(), b.Int(3))
			b.Barrier()
			return b.SharedLoad(s, index(b))
		}
	}
	if err := loop(shared((*Builder).NumGroups)); err != nil {
		t.Error("an element that all threads load is not the same for all:", err)
	}
	if loop(shared((*Builder).Thread)) == nil {
		t.Error("a barrier in a loop whose bound is an element of each thread is accepted")
	}
	if loop((*Builder).Thread) == nil || loop(func(b *Builder) *Value { return b.Load(Scalar(I32), b.k.Args[0]) }) == nil {
		t.Error("a barrier in a loop that threads run differently often is accepted")
	}
}
