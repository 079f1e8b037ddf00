// Package e2e holds tests from a model file to the tokens that a program prints. Here are those of programs for the
// processor, and of texts as input; the packages below have architectures, devices, GPUs and what programs offer
// besides. Tests that take more than a few seconds run if GGMLC_REQUIRE names e2e; see package needtest.
package e2e

import (
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
