//go:build !amd64 || purego

package runtime

// probesHere returns scalar loops, as the kernels of this build have no vector loops: shares are relative to the peak
// of scalar code.
func probesHere() probes { return scalarProbes }
