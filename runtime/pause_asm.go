//go:build (amd64 || arm64) && !purego

package runtime

// pause passes some tens of cycles without disturbing other cores.
//
//go:noescape
func pause()
