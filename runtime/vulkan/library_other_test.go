//go:build !(linux && (amd64 || arm64 || loong64 || ppc64le || riscv64)) && !((darwin || windows) && (amd64 || arm64))

package vulkan

import (
	"testing"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/library"
)

// TestOtherSystemsAreNamedOnce demands the cause alone where no driver can be called, without the advice to install
// one.
func TestOtherSystemsAreNamedOnce(t *testing.T) {
	_, err := new(Loader).Open(new(runtime.DeviceInfo), 0, new(runtime.Supervisor))
	if err != library.ErrSystem {
		t.Errorf("error %v, want %v", err, library.ErrSystem)
	}
}
