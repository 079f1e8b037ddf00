package codegen

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

// TestAttends finds the inputs of attention behind views and copies, and each triple once.
func TestAttends(t *testing.T) {
	m, err := ir.Parse("attends", []byte(`ggir 1
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
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []attend{{slot: 3, pos: 2, lengths: 1}, {slot: 4, pos: 2, lengths: 1}}
	if got := attends(m.Funcs[0]); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for name, below := range map[string]int64{"lengths": 33, "at": 32, "slot": 1, "q": 0} {
		if got := indexBound(m.Funcs[0].Param(name)); got != below {
			t.Errorf("%s must be below %d, want %d", name, got, below)
		}
	}
}

// TestReaches finds the symbols whose sizes are those of what is looked at: not those of inputs.
func TestReaches(t *testing.T) {
	m, err := ir.Parse("reaches", []byte(`ggir 1
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
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []reach{{m.Symbol("kv"), 2}, {m.Symbol("far"), 1}}
	if got := reaches(m.Funcs[0]); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := attends(m.Funcs[0]); !slices.Equal(got, []attend{{1, 2, 3}, {1, 1, 3}}) {
		t.Errorf("attention reads %v together", got)
	}
	if got := indexBound(m.Funcs[0].Param("at")); got != 32 {
		t.Errorf("positions must be below %d, want 32", got)
	}
}
