//go:build (!amd64 && !arm64) || purego

package runtime

// pause would pass some tens of cycles; without an instruction for that it is nothing.
func pause() {}
