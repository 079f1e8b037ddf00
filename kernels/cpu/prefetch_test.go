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

// TestExpandedPanelsAreAskedForOnce checks that the tiles of a product prefetch all lines of the panels that are expanded
// next, of both weights, each once, and nothing after the matrix.
func TestExpandedPanelsAreAskedForOnce(t *testing.T) {
	defer func(before *implementation) { active = before }(active)
	var asked map[unsafe.Pointer]int
	active = &implementation{prefetch: func(p unsafe.Pointer, lines int) {
		for i := range lines {
			asked[unsafe.Add(p, i*lineBytes)]++
		}
	}}
	const n, k = 5 * panelRows, 256
	bytes := formatShape[formatQ4K].panelBytes
	w, up := make([]byte, 5*bytes), make([]byte, 5*bytes)
	for _, tt := range []struct{ c, panels, tiles, want int }{
		{panelRows, 2, 7, 2}, {panelRows, 1, 1, 1}, {4 * panelRows, 2, 3, 1}, {n, 2, 3, 0}, {panelRows, 2, 0, 0},
	} {
		asked = make(map[unsafe.Pointer]int)
		p := expandedProduct{f: formatQ4K, w: unsafe.Pointer(&w[0]), up: unsafe.Pointer(&up[0]), n: n, k: k}
		p.askFor(tt.c, tt.panels, tt.tiles)
		for range tt.tiles + 2 {
			p.next.ask()
		}
		if got, want := len(asked), 2*tt.want*bytes/lineBytes; got != want {
			t.Errorf("%+v: %d lines, want %d", tt, got, want)
		}
		for i := range tt.want * bytes / lineBytes {
			at := tt.c/panelRows*bytes + i*lineBytes
			if asked[unsafe.Pointer(&w[at])] != 1 || asked[unsafe.Pointer(&up[at])] != 1 {
				t.Errorf("%+v: line %d is not asked for once", tt, i)
			}
		}
	}
}
