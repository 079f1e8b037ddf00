package cpu

import "unsafe"

// nextPanel says what tiles ask memory for while they compute: weights that are read next,
// after the panel or panels they have. Several rows of x keep the processor busy for longer than its own
// prefetching looks ahead. A tile asks for a line or two in each round of its loop: a call
// that asked for all of a tile's share before it took what a core can wait for, and the tile
// waited too. Products of bf16 by 128 rows whose weights come from memory reach 0.78 of the peak so, 0.84 when
// nothing asks, and 0.90 this way (Zen 5, one thread).
type nextPanel struct {
	at    uintptr // an address, not a pointer, as behind the last panel another object may lie
	step  uintptr // that a tile asks for, in bytes
	tiles int     // that ask for weights
}

const (
	// lineBytes is what one request brings.
	lineBytes = 64

	// askTiles is how many tiles ask for as many bytes as one reads: asks in _asm.
	askTiles = 4

	// askRows is from how many rows on tiles no longer wait for memory by themselves.
	askRows = 8
)

// newNextPanel is for tiles that read bytes bytes of weights at p. There are more behind them in
// the matrix, whoever multiplies them: a worker that takes single units at the end of
// its work mostly takes one after the other.
func newNextPanel(p unsafe.Pointer, bytes, rows int, more bool) nextPanel {
	if !more || rows < askRows {
		return nextPanel{}
	}
	return nextPanel{at: uintptr(p) + uintptr(bytes), step: uintptr(bytes / askTiles), tiles: askTiles}
}

// ask returns the address from which on a tile asks: otherwise when all weights have been
// asked for.
func (n *nextPanel) ask(otherwise uintptr) uintptr {
	if n.tiles == 0 {
		return otherwise
	}
	at := n.at
	n.at += n.step
	n.tiles--
	return at
}
