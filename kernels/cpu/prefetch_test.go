package cpu

import (
	"testing"
	"unsafe"
)

// TestNextPanelAsksOnce checks that the first tiles prefetch all bytes after a panel, each another
// part, and that later tiles prefetch something else.
func TestNextPanelAsksOnce(t *testing.T) {
	var memory [8]byte
	base, other := unsafe.Pointer(&memory), uintptr(1)
	for _, bytes := range []int{4 * lineBytes, 2048 * 32, 288 * 64, 544} {
		next := newNextPanel(base, bytes, askRows, panelRows)
		want := uintptr(base) + uintptr(bytes)
		for i := range askTiles {
			if at := next.ask(other); at != want {
				t.Errorf("%d bytes: tile %d asks at %d, want %d", bytes, i, at-uintptr(base), want-uintptr(base))
			}
			want += uintptr(bytes / askTiles)
		}
		if want != uintptr(base)+2*uintptr(bytes) {
			t.Errorf("%d bytes: tiles ask for %d", bytes, want-uintptr(base)-uintptr(bytes))
		}
		if at := next.ask(other); at != other {
			t.Errorf("%d bytes: a tile more asks for %d", bytes, at)
		}
	}
	for _, none := range []nextPanel{newNextPanel(base, 64, askRows, 0), newNextPanel(base, 64, askRows-1, panelRows)} {
		if none.ask(other) != other {
			t.Error("tiles of the last panel, or of few rows, ask for weights behind it")
		}
	}
}
