package cpu

import "unsafe"

// nextPanel asks for the weights that a product reads next while it computes with those
// before, a share at each tile: several rows of x keep the processor busy for longer than
// its own prefetching looks ahead.
type nextPanel struct {
	base  unsafe.Pointer // nil for nothing
	lines int            // from base on
	asked int            // of these; no pointer, as behind the last one another object may lie
	per   int            // lines for each row of x
}

// lineBytes is what one request brings.
const lineBytes = 64

// newNextPanel returns the requests for bytes bytes at p, spread over rows rows. With few
// rows tiles ask for themselves.
func newNextPanel(p unsafe.Pointer, bytes, rows int) nextPanel {
	if active.prefetch == nil || rows < prefetchRows {
		return nextPanel{}
	}
	lines := (bytes + lineBytes - 1) / lineBytes
	return nextPanel{base: p, lines: lines, per: (lines + rows - 1) / rows}
}

// prefetchRows is from how many rows on tiles no longer wait for memory by themselves.
const prefetchRows = 8

// ask asks for the share of a tile of rows rows.
func (n *nextPanel) ask(rows int) {
	lines := min(n.per*rows, n.lines-n.asked)
	if lines <= 0 {
		return
	}
	active.prefetch(unsafe.Add(n.base, n.asked*lineBytes), lines)
	n.asked += lines
}
