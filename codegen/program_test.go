package codegen

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/runtime"
)

// TestMaxThreadsIsTheRuntimes: a plan that names no limit is for as many workers as the runtime can have.
func TestMaxThreadsIsTheRuntimes(t *testing.T) {
	if ir.MaxThreads != runtime.MaxThreads {
		t.Errorf("plans are for up to %d workers, the runtime has up to %d", ir.MaxThreads, runtime.MaxThreads)
	}
}
