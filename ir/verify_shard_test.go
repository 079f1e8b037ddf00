package ir

import (
	"strings"
	"testing"
)

// sharded is a layer whose values have states.
const sharded = `ggir 1
props imported,shaped
weight "up" : f32[12,8]
weight "down" : f32[8,12]
func @f(%x: f32[3,8]) -> (y: f32[3,8]) {
  %up = weight "up" : f32[12,8] shard=split(0, 2*(3 1), 3 1)
  %down = weight "down" : f32[8,12] shard=split(1, 2*(3 1), 3 1)
  %a = matmul %x, %up : f32[3,12] shard=split(1, 2*(3 1), 3 1)
  %c = matmul %a, %down : f32[3,8] shard=partial
  %s = all_reduce %c : f32[3,8] shard=mirrored
  %y = add %x, %s : f32[3,8] shard=mirrored
  return %y
}
`

func TestStatesAreReadBack(t *testing.T) {
	m, err := Parse("test", []byte(sharded))
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(m); err != nil {
		t.Error(err)
	}
	if got := m.String(); got != sharded {
		t.Errorf("got\n%swant\n%s", got, sharded)
	}
	other := m.Clone()
	if equal, diff := Equal(m, other); !equal {
		t.Error(diff)
	}
	other.Funcs[0].Nodes[2].Result().SetSharding(Mirrored())
	if equal, diff := Equal(m, other); equal || !strings.Contains(diff, "state of %a") {
		t.Errorf("another state: equal %v, %s", equal, diff)
	}
	other.Funcs[0].ForgetSharding()
	if text := other.String(); strings.Contains(text, "shard=") {
		t.Errorf("states are left in\n%s", text)
	}
}

func TestWrongStatesAreReported(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{"shard=partial", "", "%c: shard: it has no state"},
		{"shard=partial", "shard=mirrored", "%c: shard: devices cannot compute it as mirrored from"},
		{"%a = matmul %x, %up : f32[3,12] shard=split(1, 2*(3 1), 3 1)", "%a = matmul %x, %up : f32[3,12] shard=split(1, 9 3)", "%a: shard: devices cannot compute it"},
		{"all_reduce", "all_gather", "%s: shard: all_gather does not make mirrored of partial"},
		{"shard=split(0, 2*(3 1), 3 1)", "shard=split(0, 8 8)", "%up: shard: split(0, 8 8): the parts are not the whole axis"},
		{"shard=split(0, 2*(3 1), 3 1)", "shard=split(2, 8 4)", "%up: shard: split(2, 8 4): there is no such axis"},
		{"shard=split(0, 2*(3 1), 3 1)", "shard=split(0, 12)", "%up: shard: split(0, 12): the numbers of devices differ"},
		{"shard=split(0, 2*(3 1), 3 1)", "shard=split(0, 0*(3 1), 9 3)", "a count is out of bounds"},
		{"shard=split(0, 2*(3 1), 3 1)", "shard=split(0, 9000000000000000000*(3 1))", "a count is out of bounds"},
		{"shard=split(0, 2*(3 1), 3 1)", "shard=split(0)", "there is no such axis"},
		{"shard=split(0, 2*(3 1), 3 1)", "shard=split(0, 6 5 at 0 7)", "%up: shard: split(0, 6 5 at 0 7): no device has some of the elements"},
		{"shard=split(0, 2*(3 1), 3 1)", "shard=split(0, 9 6 at 0 6 0)", "the numbers of devices differ"},
		{"shard=split(0, 2*(3 1), 3 1)", "shard=split(0, 12 12 at 0 9000000000000)", "a count is out of bounds"},
		{"shard=split(0, 2*(3 1), 3 1)", "shard=split(0, 9 6 at 0)", "the numbers of devices differ"},
		{"shard=split(1, 2*(3 1), 3 1)\n  %a", "shard=split(1, 3 1, 3 1 4)\n  %a", "the numbers of devices differ"},
		{"shard=split(0, 2*(3 1), 3 1)", "shard=held(0 0)", "%up: shard: held(0 0): each device has it once or not, and one has it"},
		{"shard=split(0, 2*(3 1), 3 1)", "shard=held(1)", "%up: shard: held(1): the numbers of devices differ"},
		{"shard=split(0, 2*(3 1), 3 1)", "shard=split(0, 9 6 at 0 6)", "%a: shard: devices cannot compute it"},
		{"shard=split(0, 2*(3 1), 3 1)", "shard=partial", "%up: shard: a weight or state is split or mirrored"},
	} {
		text := strings.Replace(sharded, tt.old, tt.new, 1)
		m, err := Parse("test", []byte(text))
		if err == nil {
			err = Verify(m)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.new, err, tt.want)
		}
	}
}
