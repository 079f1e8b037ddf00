package explain

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestCopiesMadeAgainForAMemoryLimitAreNotNeedless assigns by cost where the speed of copies is not known. A plan that
// fits with a value copied twice is not refused, and explain does not call that copy needless.
func TestCopiesMadeAgainForAMemoryLimitAreNotNeedless(t *testing.T) {
	for _, link := range []string{"0", "12e9"} {
		m := irtest.Parse(t, `ggir 1
module "m"
after import
props imported
func @f(%z: f32[64,128], %y: f32[64,128]) -> (f32[64,128], f32[64,128]) {
  %x = sqrt %z
  %n = neg %x
  %q = sqrt %n
  %e = add %q, %y
  %u = sqrt %e
  %a = add %u, %x
  return %a, %u
}
`)
		targets, err := target.Parse("targets", fmt.Sprintf("target gpu like=fake space=dev ops=neg,exp,add queues=1 link=%s linkdelay=0\n"+
			"target cpu like=cpu link=0 linkdelay=0", link))
		if err != nil {
			t.Fatal(err)
		}
		o := pass.Options{Pins: []pass.Pin{{Match: regexp.MustCompile("^(n|e|a)$"), Backend: "gpu"}}, MaxMemory: map[string]int64{"gpu": 64 << 10}}
		stats, err := passes.Run(context.Background(), m, passes.RunOptions{Targets: targets, Options: o})
		if err != nil {
			t.Fatalf("link=%s: %v", link, err)
		}
		if n := stats.Counter("elide-copy.copy.apart"); n != 1 {
			t.Errorf("link=%s: %d copies twice", link, n)
		}
		if _, doc := explained(t, m, Options{Targets: targets}); len(doc.Summary.Entries[0].Copies.Needless) > 0 {
			t.Errorf("link=%s: explain calls %+v needless", link, doc.Summary.Entries[0].Copies.Needless)
		}
	}
}
