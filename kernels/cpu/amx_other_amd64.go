//go:build !purego && !linux

package cpu

// allowTiles reports that tile registers are not used. Other systems have other ways to enable them,
// which this package does not know.
func allowTiles() bool { return false }
