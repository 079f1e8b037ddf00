//go:build !amd64 || purego

package runtime

// probesHere has no vector loops for this processor, as the kernels of this build have
// none: the shares say what of scalar code's peak is reached.
func probesHere() probes { return scalarProbes }
