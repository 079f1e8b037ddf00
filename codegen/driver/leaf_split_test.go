package driver_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// TestLeavesMayBeInEarlierSplits: in a text with copies a weight may be declared in a split that is over, as
// it does no work. Before there are copies its split decides where it is, so the order of splits holds for it too.
func TestLeavesMayBeInEarlierSplits(t *testing.T) {
	const text = `ggir 1
module "m"
props imported
weight "w" : f32[4]
weight "v" : f32[4]

func @f(%x: f32[4]) -> (y: f32[4]) {
  %w = weight "w" : f32[4]
  %a = mul %x, %w : f32[4]
  %b = neg %a : f32[4]
  %v = weight "v" : f32[4]
  %c = mul %b, %v : f32[4]
  return %c
}
`
	pins := []pass.Pin{{Match: regexp.MustCompile("^a$"), Backend: "fake:0"}, {Match: regexp.MustCompile("^[bc]$"), Backend: "cpu"}}
	for after, want := range map[string]string{"copy": "", "split": "%b: is of split 1, and a node of split 0 follows"} {
		m, err := compileText(t, text, driver.CompileOptions{To: after, Passes: pass.Options{Pins: pins}})
		if err != nil {
			t.Fatal(err)
		}
		dump := m.String()
		edited := strings.Replace(dump, `%v = weight "v" : f32[4] @host split=1`, `%v = weight "v" : f32[4] @host split=0`, 1)
		if edited == dump {
			t.Fatalf("nothing to edit in\n%s", dump)
		}
		_, err = compileText(t, edited, driver.CompileOptions{})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("after %s: the error is %v, want %q", after, err, want)
		}
	}
}
