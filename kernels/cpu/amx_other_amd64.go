//go:build !purego && !linux

package cpu

// allowTiles reports that tile registers are left alone: other systems have other ways to ask for
// them, which nobody has tried.
func allowTiles() bool { return false }
