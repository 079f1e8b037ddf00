package driver

import (
	"fmt"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

// TestViewsAreInNoLaterSplit: once there are copies, a view may be in an earlier split than the nodes
// after it, and in no later one, as roll would make it the last node of an iteration.
func TestViewsAreInNoLaterSplit(t *testing.T) {
	for split, wrong := range []bool{false, false, true} {
		text := fmt.Sprintf(`props imported,shaped,assigned,split,copied
func @f(%%x: f32[4] @host) -> (c: f32[2,2]) {
  %%a = neg %%x : f32[4] in host @cpu split=0
  %%v = reshape %%a {shape=[2,2]} : f32[2,2] in host split=%d
  %%b = exp %%v : f32[2,2] in host @gpu split=1
  %%c = neg %%b : f32[2,2] in host @cpu split=2
  return %%c
}`, split)
		m, err := ir.Parse("splits", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := checkSplits(m); (err != nil) != wrong {
			t.Errorf("a view of split %d: %v", split, err)
		}
	}
}
