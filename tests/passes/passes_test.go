// Package passes holds the tests of passes that are texts; see passes/passtest.
package passes

import (
	"testing"

	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/passtest"
)

func TestPasses(t *testing.T) {
	cov := passtest.Run(t, ".")
	if t.Failed() {
		return
	}
	for _, p := range passes.Passes() {
		for _, r := range p.Rules {
			if len(cov.Expect[string(r.Name)]) == 0 {
				t.Errorf("pass %s, rule %s: no test expects it", p.Name, r.Name)
			}
			if len(cov.ExpectNot[string(r.Name)]) == 0 {
				t.Errorf("pass %s, rule %s: no test shows a near miss (expect-not)", p.Name, r.Name)
			}
		}
	}
}
