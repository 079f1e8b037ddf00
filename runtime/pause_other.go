//go:build (!amd64 && !arm64) || purego

package runtime

// pause does nothing: there is no instruction for it here.
func pause() {}
