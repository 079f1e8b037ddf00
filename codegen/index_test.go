package codegen

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/runtime"
)

// parsed returns the module of a text.
func parsed(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, err := ir.Parse("test.ggir", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// wantBounds demands bounds of an input of the first function.
func wantBounds(t *testing.T, m *ir.Module, name string, want ...runtime.Dim) {
	t.Helper()
	got, err := (&generator{m: m}).indexBounds(m.Funcs[0].Param(name))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%s must be below %+v (%v), want %+v", name, got, err, want)
	}
}

// TestAttendsFindsInputsBehindViews finds the inputs of attention through views and copies, and each triple once.
func TestAttendsFindsInputsBehindViews(t *testing.T) {
	m := parsed(t, `ggir 1
module "attends"
after import
props imported
state "k" : f16[1,2,32,8]
func @f(%q: f32[1,4,8], %lengths: i32[1], %at: i32[1,1], %slot: i32[1], %other: i32[1]) -> (y: f32[1,4,8]) {
  %k = state "k" : f16[1,2,32,8]
  %pos = reshape %at {shape=[1]} : i32[1]
  %pos2 = copy %pos : i32[1]
  %a = attention %q, %k, %k, %slot, %pos, %lengths {scale=0.25} : f32[1,4,8]
  %b = attention %a, %k, %k, %slot, %pos2, %lengths {scale=0.25} : f32[1,4,8]
  %c = attention %b, %k, %k, %other, %pos, %lengths {scale=0.25} : f32[1,4,8]
  return %c
}
`)
	want := []attend{{slot: 3, pos: 2, lengths: 1}, {slot: 4, pos: 2, lengths: 1}}
	if got := attends(m.Funcs[0]); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for name, below := range map[string][]runtime.Dim{"lengths": {{Const: 33}}, "at": {{Const: 32}}, "slot": {{Const: 1}}, "q": nil} {
		wantBounds(t, m, name, below...)
	}
}

// TestReachesFindsSizesThatFollowFromPositions finds the symbols whose sizes follow from positions, and none of inputs'
// shapes.
func TestReachesFindsSizesThatFollowFromPositions(t *testing.T) {
	m := parsed(t, `ggir 1
module "reaches"
after import
props imported
symbol tokens 1 8
symbol kv 1 32
symbol far 1 32
state "k" : f16[1,2,32,8]
func @f(%q: f32[tokens,4,8], %slot: i32[tokens], %at: i32[tokens,1], %n: i32[1]) -> (y: f32[tokens,4,8]) {
  %k = state "k" : f16[1,2,32,8]
  %pos = reshape %at {shape=[tokens]}
  %a = attention_segments %q, %k, %k, %slot, %pos, %n {scale=0.25, len=8, segments=(kv+7)/8}
  %b = attention_combine %a {kv_heads=2}
  %c = attention_segments %b, %k, %k, %slot, %pos, %n {scale=0.25, len=8, segments=(kv+7)/8}
  %d = attention_combine %c {kv_heads=2}
  %e = attention_segments %d, %k, %k, %slot, %slot, %n {scale=0.25, len=8, segments=max(tokens, far)}
  %y = attention_combine %e {kv_heads=2}
  return %y
}
`)
	want := []reach{{m.Symbol("kv"), 2}, {m.Symbol("far"), 1}}
	if got := reaches(m.Funcs[0]); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := attends(m.Funcs[0]); !slices.Equal(got, []attend{{1, 2, 3}, {1, 1, 3}}) {
		t.Errorf("attention reads %v together", got)
	}
	wantBounds(t, m, "at", runtime.Dim{Const: 32})
}

// TestIndexBoundsFollowInputs follows inputs to the nodes that select by them, through views, copies and the
// iterations of repeats, and keeps each bound once, with its symbols.
func TestIndexBoundsFollowInputs(t *testing.T) {
	m := parsed(t, `ggir 1
module "bounds"
after import
props imported
symbol n 1 100
symbol m 1 50
state "s" : f32[2,1,16,8]
func @f(%y: f32[m,8], %i: i32[m], %j: i32[m], %k: i32[2*m], %t: f32[10,8], %u: f32[2*n+1,8], %x: f32[m,n], %w: f32[4,8,8], %only: i32[m], %none: i32[m]) {
  %part = slice %k {axis=0, start=0, len=m}
  %both = concat %part, %j {axis=0}
  %g = gather %u, %both
  %k2 = reshape %i {shape=[m,1]}
  %taken = take %x, %k2
  %c = copy %y
  %rows = reshape %c {shape=[m,1,8]}
  %o1 = reshape %only {shape=[m,1]}
  %e = experts_matmul %rows, %w, %o1
  %copied = copy_experts %w, %o1
  %s = state "s"
  %w1 = state_write %s, %rows, %only, %only
  %p, %q, %r = repeat %y, %i, %j, %t {count=4, carried=3, invariant=1}
  body @b(%a: f32[m,8], %c: i32[m], %d: i32[m], %tt: f32[10,8]) -> (f32[m,8], i32[m], i32[m]) {
    %g = gather %tt, %c
    %e = copy %d
    return %g, %e, %c
  }
  %z = gather %t, %r
  return %z, %g, %taken, %e, %w1, %none
}
`)
	n := runtime.Dim{Sym: 0, Scale: 1}
	twice := runtime.Dim{Sym: 0, Scale: 2, Const: 1}
	ten := runtime.Dim{Const: 10}
	wantBounds(t, m, "i", ten, n)
	wantBounds(t, m, "j", ten, twice)
	wantBounds(t, m, "k", twice)
	wantBounds(t, m, "only", runtime.Dim{Const: 2}, runtime.Dim{Const: 4}, runtime.Dim{Const: 16})
	wantBounds(t, m, "none")
	if err := CheckInputs(m); err != nil {
		t.Error(err)
	}
}

// TestInputsThatNothingChecksAreRefused refuses what no program could check: each operand of an attention that is no
// input, and rows that follow from two symbols.
func TestInputsThatNothingChecksAreRefused(t *testing.T) {
	for want, body := range map[string]string{
		"":                         "%y = attention %x, %s, %s, %i, %i, %len {scale=1}",
		"@f: %y: its slot, %c,":    "%c = constant \"00000000\" : i32[1]\n %y = attention %x, %s, %s, %c, %i, %len {scale=1}",
		"@f: %y: its pos, %c,":     "%c = constant \"00000000\" : i32[1]\n %y = attention %x, %s, %s, %i, %c, %len {scale=1}",
		"@f: %y: its lengths, %c,": "%c = constant \"00000000\" : i32[1]\n %y = attention %x, %s, %s, %i, %i, %c {scale=1}",
		"@f: %y: its slots are elements of an input of 1 from 0 on, and its positions those of an input of 2 from 0 on": "%p = slice %two {axis=0, start=0, len=1}\n %y = attention %x, %s, %s, %i, %p, %len {scale=1}",
		"@f: %y: its slots are elements of an input of 2 from 1 on, and its positions those of an input of 2 from 0 on": "%p = slice %two {axis=0, start=0, len=1}\n %q = slice %two {axis=0, start=1, len=1}\n %y = attention %x, %s, %s, %q, %p, %len {scale=1}",
		"@f: %sums: its lengths, %p,":   "%p = slice %two {axis=0, start=1, len=1}\n %sums = attention_segments %x, %s, %s, %i, %i, %p {scale=1, len=8, segments=1}",
		"@b: %y: its slot, %i,":         "%z, %r = repeat %x, %i, %len, %s {count=2, carried=2, invariant=2}\n body @b(%x: f32[1,1,8], %i: i32[1], %len: i32[1], %s: f32[1,1,16,8]) -> (f32[1,1,8], i32[1]) {\n %y = attention %x, %s, %s, %i, %i, %len {scale=1}\n return %y, %len\n }",
		"@f: %i selects one of m*n, wh": "%r = reshape %wide {shape=[m*n,8]}\n %y = gather %r, %i",
	} {
		m, err := ir.Parse("t", []byte("symbol n 1 9\nsymbol m 1 9\nstate \"s\" : f32[1,1,16,8]\nfunc @f(%x: f32[1,1,8], %i: i32[1], %len: i32[1], %two: i32[2], %wide: f32[n,m,8]) {\n %s = state \"s\"\n "+body+"\n return %x\n}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckInputs(m); want == "" && err != nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestArraysOfCallersArePlain refuses inputs and results that callers cannot read or write as rows of numbers.
func TestArraysOfCallersArePlain(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"packed result": {
			"func @f(%a: f32[20,32]) -> (y: f32.r16[20,32]) {\n %y = pack %a {to=r16}\n return %y\n}\n",
			"@f: y: callers read and write plain rows, and its layout is r16",
		},
		"packed input": {
			"func @f(%w: f32.r16[32,32], %x: f32[2,32]) -> (y: f32[2,32]) {\n %y = matmul %x, %w\n return %y\n}\n",
			"@f: w: callers read and write plain rows, and its layout is r16",
		},
		"quantized result": {
			"func @f(%a: f32[2,32]) -> (y: q8a[2,32]) {\n %y = quantize %a\n return %y\n}\n",
			"@f: y: callers have no type for q8a: cast it first",
		},
		"result in superblocks": {
			"func @f(%a: f32[2,256]) -> (y: q8a_k[2,256]) {\n %y = quantize %a {to=q8a_k}\n return %y\n}\n",
			"@f: y: callers have no type for q8a_k: cast it first",
		},
		"plain": {"func @f(%a: f32[20,32]) -> (y: f32[20,32]) {\n %y = neg %a\n return %y\n}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := ir.Parse("t", []byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if err := CheckInputs(m); tt.want == "" && err != nil || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
