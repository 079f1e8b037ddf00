package spell

import (
	"strings"
	"testing"
)

func TestNearFindsTypingErrors(t *testing.T) {
	passes := []string{"assign", "split", "copy", "elide-copy", "plan", "check"}
	for _, test := range []struct{ word, want string }{
		{"asign", "assign"},
		{"spilt", "split"},
		{"PLAN", "plan"},
		{"plann", "plan"},
		{"elide_copy", "elide-copy"},
		{"chekc", "check"},
		{"nosuch", ""},
		{"x", ""},
		{"", ""},
		{"coy", "copy"},
		{"nope", ""},
		{"assigned", "assign"},
		{strings.Repeat("plan", 1000), ""},
	} {
		if got := Near(test.word, passes); got != test.want {
			t.Errorf("Near(%.20q) = %q, want %q", test.word, got, test.want)
		}
	}
}

func TestNearTakesTheFirstOfEquals(t *testing.T) {
	if got := Near("v1", []string{"v2", "v3"}); got != "v2" {
		t.Errorf("got %q, want v2", got)
	}
	if got := Near("blk.9.ffn", []string{"blk.0.attn", "blk.3.ffn"}); got != "blk.3.ffn" {
		t.Errorf("got %q, want blk.3.ffn", got)
	}
}

func TestDistanceCountsEdits(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0},
		{"abc", "acb", 1}, {"abc", "bca", 2}, {"kitten", "sitting", 3}, {"ab", "ba", 1},
	} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("distance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
		if got := distance(test.b, test.a); got != test.want {
			t.Errorf("distance(%q, %q) = %d, want %d", test.b, test.a, got, test.want)
		}
	}
}

func TestHintIsEmptyWithoutANearName(t *testing.T) {
	if got, want := Hint("asign", []string{"assign"}), " did you mean assign?"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Hint("nosuch", []string{"assign"}); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}
