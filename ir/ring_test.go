package ir

import (
	"strings"
	"testing"
)

// ringing is speaker with states that keep the last 16 of 32 positions, for windows of 4.
func ringing() string {
	return strings.NewReplacer("f32[1,1,32,8]", "f32[1,1,16,8]",
		"%s, %p : f32[1,1,32,8]", "%s, %p {ring=32} : f32[1,1,16,8]",
		"{scale=0.25}", "{scale=0.25, window=4, ring=32}",
		"segments=(kv+7)/8}", "segments=(kv+7)/8, ring=32, window=4}").Replace(speaker)
}

func TestRingsAreVerified(t *testing.T) {
	m := mustParse(t, ringing())
	if err := Verify(m); err != nil {
		t.Fatal(err)
	}
	if rows, window := m.Ring(); m.Context() != 32 || rows != 16 || window != 4 || len(m.RingStates()) != 2 || RingSaves(m) != 2*16*8*4 {
		t.Errorf("context %d, rings of %d for windows of %d, %d states, %d bytes saved", m.Context(), rows, window, len(m.RingStates()), RingSaves(m))
	}
	if equal, diff := Equal(m, mustParse(t, m.String())); !equal {
		t.Error(diff)
	}
}

// TestRingViolations has rings in which steps would overwrite what they read, or about which nodes disagree.
func TestRingViolations(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no window", "{scale=0.25, window=4, ring=32}", "{scale=0.25, ring=32}", "is a ring, and all positions are read: let the attention have a window"},
		{"too few rows for prompts", "symbol tokens 1 8", "symbol tokens 1 14", "is a ring of 16 rows, and a step needs 17"},
		{"too wide a window", "window=4", "window=17", "is a ring of 16 rows, and a step needs 24"},
		{"no need", "ring=32", "ring=16", "has 16 rows, and cannot be a ring for 16 positions"},
		{"read without a ring", "{scale=0.25, window=4, ring=32}", "{scale=0.25, window=4}", "has not the 32 positions that the first state of @prefill has"},
		{"written without a ring", "%w1 = state_write %k.1, %a, %s, %p {ring=32}", "%w1 = state_write %k.1, %a, %s, %p", "has not the 32 positions that the first state of @prefill has"},
		{"another size", "  %h = reshape %y", "  %k.2 = state \"k.2\" : f32[1,1,12,8]\n  %w2 = state_write %k.2, %q, %slot, %pos {ring=32} : f32[1,1,12,8]\n  %h = reshape %y", "is a ring of 12 rows, and another one has 16: let all have as many"},
		{"another context", "%w0 = state_write %k.0, %a, %s, %p {ring=32}", "%w0 = state_write %k.0, %a, %s, %p {ring=40}", "has not the 32 positions"},
	} {
		text := strings.ReplaceAll(ringing(), c.old, c.new)
		if c.name == "another size" {
			text = strings.Replace(text, "func @prefill", "state \"k.2\" : f32[1,1,12,8]\nfunc @prefill", 1)
		}
		if text == ringing() {
			t.Fatalf("%s: %q is not in the text", c.name, c.old)
		}
		m, err := Parse("ringing", []byte(text))
		if err == nil {
			err = Verify(m)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}
