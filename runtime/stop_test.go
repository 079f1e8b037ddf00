package runtime

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestStopStringsAreCutAndHeldBack(t *testing.T) {
	tests := []struct {
		stops  []string
		pieces []string
		want   []string // what pass returns for each piece
		ended  bool
	}{
		{[]string{"END"}, []string{"a", "bE", "N", "Dx"}, []string{"a", "b", "", ""}, true},
		{[]string{"END"}, []string{"aEN", "ex"}, []string{"a", "ENex"}, false},
		{[]string{"END"}, []string{"aEN"}, []string{"aEN"}, false}, // the last piece: nothing is held back
		{[]string{"aab"}, []string{"aa", "ab"}, []string{"", "a"}, true},
		{[]string{"b", "ab"}, []string{"xab"}, []string{"x"}, true},
		{[]string{"\n\n", "é"}, []string{"a\n", "b\n", "\nc"}, []string{"a", "\nb", ""}, true},
	}
	for _, tt := range tests {
		s, err := newStopper(tt.stops)
		if err != nil {
			t.Fatal(err)
		}
		ended := false
		for i, piece := range tt.pieces {
			var out []byte
			out, ended = s.pass([]byte(piece), i < len(tt.pieces)-1)
			if string(out) != tt.want[i] {
				t.Errorf("%q: %q: piece %d is %q, want %q", tt.stops, tt.pieces, i, out, tt.want[i])
			}
		}
		if ended != tt.ended {
			t.Errorf("%q: %q: stopped is %v", tt.stops, tt.pieces, ended)
		}
	}
}

// TestStoppedTextIsThatBeforeTheFirstStop compares pieces of random texts with a search in the whole text: for the
// first end of a stop string.
func TestStoppedTextIsThatBeforeTheFirstStop(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	letters := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteByte("abc"[r.IntN(3)])
		}
		return b.String()
	}
	for range 20000 {
		stops := []string{letters(1 + r.IntN(4)), letters(1 + r.IntN(5))}
		text := letters(r.IntN(20))
		want, found := text, false
		for end := 0; end <= len(text) && !found; end++ {
			for _, stop := range stops {
				if before, ok := strings.CutSuffix(text[:end], stop); ok && (!found || len(before) < len(want)) {
					want, found = before, true
				}
			}
		}
		s, _ := newStopper(stops)
		var got string
		stopped := false
		for rest := text; !stopped; {
			n := min(r.IntN(4), len(rest))
			var out []byte
			out, stopped = s.pass([]byte(rest[:n]), moreText(n < len(rest)))
			got += string(out)
			if rest = rest[n:]; rest == "" && n == 0 {
				break
			}
		}
		if got != want || stopped != found {
			t.Fatalf("stops %q: %q becomes %q, %v; want %q, %v", stops, text, got, stopped, want, found)
		}
	}
}
