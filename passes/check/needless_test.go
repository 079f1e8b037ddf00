package check_test

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/check"
)

// copiedTwice is a plan in which %x is copied for two backends that read the same memory. %c alone reads the second
// copy. %d takes the bytes of the first one after that.
const copiedTwice = `ggir 1
module "twice"
after plan
props imported,shaped,assigned,packed,split,copied,ordered,partitioned,placed
func @f(%x: f32[64] @host at 1:0x0+256) -> (y: f32[64]) epochs=1 {
  %first = copy %x : f32[64] in dev @gpu split=0 part=one at 0:0x0+256
  %b = exp %first : f32[64] in dev @gpu split=0 part=one at 0:0x100+256
  %second = copy %x : f32[64] in dev @npu split=1 part=one at 0:0x200+256
  %c = neg %second : f32[64] in dev @npu split=1 part=one at 0:0x300+256
  %d = add %b, %c : f32[64] in dev @npu split=1 part=one at 0:0x0+256
  %y = copy %d : f32[64] in host @cpu split=2 part=one at 1:0x100+256
  return %y
}
plan {
  arena dev activations align=64 chunks=[1024] bound=0
  arena host io align=64 chunks=[512] bound=0
  func "f" nodes=6 {
    split @gpu inputs=["x"]
    split @npu inputs=["x"]
    split @cpu inputs=["d"]
  }
}
`

// TestFirstCopyIsLostIfItsBytesAreTaken moves results of nodes to the bytes of the first copy. The second copy is
// needless in any case. The first one is lost only if they are taken before the last reader of the second one is done.
func TestFirstCopyIsLostIfItsBytesAreTaken(t *testing.T) {
	targets := parseTargets(t, "target gpu space=dev ops=*\ntarget npu space=dev ops=*\ntarget cpu like=cpu\n")
	for _, tt := range []struct {
		name  string
		edits []string
		lost  bool
	}{
		{"taken by the node after the reader", nil, false},
		{"not taken", []string{"at 0:0x0+256\n  %y", "at 0:0x100+256\n  %y"}, false},
		{"taken by the reader", []string{"at 0:0x300", "at 0:0x0"}, true},
		{"taken before the second copy", []string{"at 0:0x100+256\n  %second", "at 0:0x0+256\n  %second"}, true},
		{"taken by the second copy", []string{"at 0:0x200", "at 0:0x0"}, false},
	} {
		m, err := ir.Parse("twice", []byte(edit(copiedTwice, tt.edits...)))
		if err != nil {
			t.Fatal(err)
		}
		found := check.Needless(m, targets)
		if len(found) != 1 || found[0].Node.Result().Name() != "second" || !strings.Contains(found[0].Why, "%first") {
			t.Errorf("%s: found %v, want the second copy", tt.name, found)
		} else if found[0].Lost != tt.lost {
			t.Errorf("%s: the first copy is lost: %v, want %v", tt.name, found[0].Lost, tt.lost)
		}
	}
}
