package token

import (
	"slices"
	"testing"
)

// TestControlsIn expects all texts of control tokens, those of user-defined tokens not.
func TestControlsIn(t *testing.T) {
	v := load(t, testTable())
	got := v.ControlsIn("a</s><user><|ctl|><unk>")
	if want := []Span{{1, 5}, {11, 18}, {18, 23}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	table := testTable()
	table.Tokens[id("<|ctl|>")] = "s><s"
	if got, want := load(t, table).ControlsIn("<s><s>"), []Span{{0, 3}, {1, 5}, {3, 6}}; !slices.Equal(got, want) {
		t.Errorf("overlapping: %v, want %v", got, want)
	}
}

// TestGivenParts expects control tokens where no byte of theirs is given.
func TestGivenParts(t *testing.T) {
	v := load(t, testTable())
	const text = "</s></s></s><user>"
	for _, c := range []struct {
		given []Span
		want  int // control tokens
	}{
		{nil, 3}, {[]Span{{0, 4}}, 2}, {[]Span{{3, 5}}, 1}, {[]Span{{0, 1}, {8, 9}}, 1}, {[]Span{{4, 4}}, 3}, {[]Span{{5, 5}}, 2}, {[]Span{{0, 18}}, 0},
	} {
		ids := v.Encode(nil, text, Options{ParseSpecials: true, Given: c.given})
		n := 0
		for _, id := range ids {
			if id == eosID {
				n++
			}
		}
		if n != c.want || ids[len(ids)-1] != id("<user>") {
			t.Errorf("%v: %v has %d control tokens, want %d", c.given, ids, n, c.want)
		}
	}
}
