package cpu

import (
	"testing"
	"unsafe"
)

// TestNextPanelAsksOnce checks that the tiles of a panel ask for each of its lines once, and
// for none behind it.
func TestNextPanelAsksOnce(t *testing.T) {
	defer func(before *implementation) { active = before }(active)
	active = &implementation{}
	for _, c := range []struct{ bytes, rows, tile int }{{64, 8, 4}, {1, 9, 3}, {288, 8, 8}, {4096, 17, 4}, {65 * 64, 64, 6}, {640, 1000, 1}} {
		memory := make([]byte, c.bytes)
		asked := make([]int, c.bytes) // by the first byte of a line
		base := unsafe.Pointer(&memory[0])
		active.prefetch = func(p unsafe.Pointer, lines int) {
			first := int(uintptr(p) - uintptr(base))
			for i := range lines {
				asked[first+i*lineBytes]++
			}
		}
		next := newNextPanel(base, c.bytes, c.rows)
		for r := 0; r < c.rows; r += c.tile {
			next.ask(min(c.tile, c.rows-r))
		}
		for at := 0; at < c.bytes; at += lineBytes {
			if asked[at] != 1 {
				t.Errorf("%d bytes, %d rows: the line at %d is asked for %d times", c.bytes, c.rows, at, asked[at])
			}
		}
	}
}

func TestNextPanelOfFewRows(t *testing.T) {
	if next := newNextPanel(unsafe.Pointer(new(byte)), 1, prefetchRows-1); next.lines != 0 {
		t.Errorf("tiles of few rows ask for %d lines", next.lines)
	}
}
