package ir

import (
	"strings"
	"testing"
	"time"
)

// TestWrongCausesAreErrors: a cause that cannot be read is reported once for its line, and the text after it is
// read, also where the text ends in the cause.
func TestWrongCausesAreErrors(t *testing.T) {
	for _, cause := range []string{"; fuse.x (", "; fuse.x %", "; fuse.x \"open", "; fuse.x was 3", "; fuse.x now", "; ;", "; fuse/", "; fuse.x %a )"} {
		for _, rest := range []string{"", "\n  return %x\n}\n"} {
			done := make(chan error, 1)
			go func() {
				_, err := Parse("t", []byte("func @f(%x: f32[4]) -> f32[4] {\n  %a = neg %x "+cause+rest))
				done <- err
			}()
			select {
			case err := <-done:
				if err == nil || rest != "" && strings.Count(err.Error(), "t:") != 1 {
					t.Errorf("%q, then %q: %v", cause, rest, err)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("%q, then %q: reading does not end", cause, rest)
			}
		}
	}
}
