package gguf

import (
	"encoding/binary"
	"fmt"
	"io"
)

var le = binary.LittleEndian

// cursorBuf is the size of a cursor's buffer, and of one read.
const cursorBuf = 64 << 10

// cursor reads a file from front to back through a buffer. It keeps the first error: later reads return zeros, and
// callers look at err before they decide anything.
type cursor struct {
	r    io.ReaderAt
	size int64  // of the file; nothing beyond it is read
	buf  []byte // read but not yet consumed
	mem  []byte // the memory of buf
	off  int64  // of buf[0] in the file
	err  error
}

// newCursor starts at an offset inside the file.
func newCursor(r io.ReaderAt, size, off int64) *cursor {
	return &cursor{r: r, size: size, off: off}
}

// left returns the number of bytes up to the end of the file.
func (c *cursor) left() uint64 { return uint64(c.size - c.off) }

// fail records the first error.
func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// need reports whether n more bytes exist. If not, the cursor fails.
func (c *cursor) need(n uint64, what string) bool {
	if c.err != nil {
		return false
	}
	if n <= c.left() {
		return true
	}
	hint := damaged // no download ends so early
	if n <= uint64(c.size) {
		hint = "the download may be incomplete"
	}
	c.fail(fmt.Errorf("the file ends at 0x%x, inside %s, which needs %d bytes from 0x%x on: %s", c.size, what, n, c.off, hint))
	return false
}

// fill makes at least n bytes available. n is at most cursorBuf and known to exist.
func (c *cursor) fill(n int) bool {
	if len(c.buf) >= n {
		return true
	}
	if len(c.mem) < n {
		c.mem = make([]byte, max(n, int(min(cursorBuf, c.left()))))
	}
	keep := copy(c.mem, c.buf)
	want := int(min(uint64(len(c.mem)), c.left()))
	got, err := readFull(c.r, c.mem[keep:want], c.off+int64(keep))
	c.buf = c.mem[:keep+got]
	if err != nil && len(c.buf) < n {
		c.fail(err)
		return false
	}
	return true
}

// readFull reads len(p) bytes at off. It distinguishes a file that became shorter from other errors.
func readFull(r io.ReaderAt, p []byte, off int64) (int, error) {
	n, err := r.ReadAt(p, off)
	switch {
	case n == len(p):
		return n, nil
	case err == io.EOF || err == nil:
		return n, errChanged
	default:
		return n, fmt.Errorf("cannot be read at 0x%x: %w", off+int64(n), err)
	}
}

// next consumes n bytes, at most cursorBuf. It returns nil after an error. The bytes are valid until the cursor moves
// again.
func (c *cursor) next(n int, what string) []byte {
	if !c.need(uint64(n), what) || !c.fill(n) {
		return nil
	}
	b := c.buf[:n]
	c.buf = c.buf[n:]
	c.off += int64(n)
	return b
}

func (c *cursor) u8(what string) uint8 {
	if b := c.next(1, what); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u32(what string) uint32 {
	if b := c.next(4, what); b != nil {
		return le.Uint32(b)
	}
	return 0
}

func (c *cursor) u64(what string) uint64 {
	if b := c.next(8, what); b != nil {
		return le.Uint64(b)
	}
	return 0
}

// str reads a string of at most limit bytes.
func (c *cursor) str(limit int, what string) string {
	n := c.u64("the length of " + what)
	if !c.need(n, what) {
		return ""
	}
	if n > uint64(limit) {
		c.fail(fmt.Errorf("%s is %d bytes long: at most %d are allowed", what, n, limit))
		return ""
	}
	return string(c.next(int(n), what))
}

// skip advances by n bytes without reading them.
func (c *cursor) skip(n uint64, what string) {
	if !c.need(n, what) {
		return
	}
	c.off += int64(n)
	if n < uint64(len(c.buf)) {
		c.buf = c.buf[n:]
	} else {
		c.buf = nil
	}
}
