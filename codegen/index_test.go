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
