//go:build !linux

package device

import (
	"testing"

	"github.com/ggmlc/ggmlc/runtime/cuda"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

func simulatedCUDA(t testing.TB) *cuda.Loader {
	needtest.Skip(t, "cuda", "no CUDA driver, and the simulated one exists on Linux")
	return nil
}
