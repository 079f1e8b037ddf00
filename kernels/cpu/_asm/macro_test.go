package main

import "testing"

// TestConstantsOfOneNameAreEqual: what is not the same under one name would silently be the first of both.
func TestConstantsOfOneNameAreEqual(t *testing.T) {
	g := &generator{instructions: newInstructions()}
	if a, b := g.word("one", 1), g.word("one", 1); a.Asm() != b.Asm() {
		t.Errorf("equal constants are at %s and %s", a.Asm(), b.Asm())
	}
	defer func() {
		if recover() == nil {
			t.Error("two constants have one name")
		}
	}()
	g.word("one", 2)
}
