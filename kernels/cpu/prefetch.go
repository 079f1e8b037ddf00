package cpu

import "unsafe"

// nextPanel is the weights that tiles prefetch while they compute: the panels that are read after their
// own. Several rows of x keep the processor busy for longer than its own prefetching looks ahead. A tile
// requests a few lines in each iteration of its loop. Requests for all of its share at once would
// exceed what a core can have outstanding, and the tile would wait for them.
//
// With 24 rows and tiles of 6 rows, four tiles use a panel of 4096 bytes. Each of them prefetches
// 1024 bytes of the next panel.
type nextPanel struct {
	at    uintptr // an address, not a pointer, as another object may follow the last panel
	step  uintptr // that a tile asks for, in bytes
	tiles int     // that ask for weights
}

const (
	// lineBytes is the bytes of one request.
	lineBytes = 64

	// askTiles is the number of tiles that together prefetch as many bytes as one reads: asks in _asm; bytesAsks is
	// that of q8_0 with VNNI, and of signed rows.
	askTiles  = 4
	bytesAsks = 2

	// askRows is from how many rows on tiles no longer wait for memory by themselves.
	askRows = 8
)

// newNextPanel is for tiles that read bytes bytes of weights at p, with left columns of the matrix after
// them. The first tiles, as many as sharers says, prefetch the panels there. These columns may belong to another worker.
// But a worker that takes single units at the end of its work mostly takes units that follow each other.
func newNextPanel(sharers int, p unsafe.Pointer, bytes, left int) nextPanel {
	if left <= 0 {
		return nextPanel{}
	}
	return nextPanel{at: uintptr(p) + uintptr(bytes), step: uintptr(bytes / sharers), tiles: sharers}
}

// ask returns the address from which on a tile prefetches. It is otherwise when all weights have been
// requested.
func (n *nextPanel) ask(otherwise uintptr) uintptr {
	if n.tiles == 0 {
		return otherwise
	}
	at := n.at
	n.at += n.step
	n.tiles--
	return at
}

// next returns what is prefetched for rows rows by panels as they are stored: see newNextPanel.
func (f format) next(p unsafe.Pointer, bytes, rows, left int) nextPanel {
	switch {
	case rows < askRows:
		return nextPanel{}
	case f == formatQ8:
		return newNextPanel(bytesAsks, p, bytes, left)
	}
	return newNextPanel(askTiles, p, bytes, left)
}
