package eval

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

func TestTableIsComplete(t *testing.T) {
	for op := range ir.NumOps {
		if table[op] == nil {
			t.Errorf("op %v has no meaning: add it to the table in ops.go", op)
		}
	}
}
