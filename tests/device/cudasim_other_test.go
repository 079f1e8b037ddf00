//go:build !linux

package device

import (
	"testing"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

func openSimulated(t testing.TB, _ *runtime.Supervisor) runtime.Device {
	needtest.Skip(t, "cuda", "no CUDA driver, and the simulated one exists on Linux")
	return nil
}
