// Package gpu runs programs for GPUs: with Vulkan, CUDA, and simulated.
package gpu

import (
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
)

func TestMain(m *testing.M) { e2etest.Main(m) }
