// Package arch builds programs of the architectures that the frontend imports, and compares their logits.
package arch

import (
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
