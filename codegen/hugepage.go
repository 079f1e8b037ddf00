package codegen

import "io"

// hugePage is the size in bytes of the pages in which files with weights are written, and
// what the offset of each write is a multiple of. On file systems with large folios (ext4 from
// Linux 6.16, xfs) the page cache gets pages of the size of the writes that fill it
// (Linux, include/linux/pagemap.h, fgf_set_order), and maps those of 2 MiB with one page fault instead of 32 to 512:
// a program's first step over 2.2 GB of weights that have just been built took 90 ms more
// when they were written in small pieces.
const hugePage = 2 << 20

// untilHugePage is the number of bytes from an offset in a file to the next huge page.
func untilHugePage(offset int64) int64 { return hugePage - offset%hugePage }

// pageWriter writes a file from its beginning in whole huge pages, however small or large the
// pieces are that it gets. What is left at the end is written by flush.
type pageWriter struct {
	w   io.Writer
	buf []byte
	err error
}

// newPageWriter returns a writer of the empty file w.
func newPageWriter(w io.Writer) *pageWriter {
	return &pageWriter{w: w, buf: make([]byte, 0, hugePage)}
}

// Write implements io.Writer. After an error of the file every call returns that.
func (p *pageWriter) Write(b []byte) (n int, err error) {
	for n < len(b) && p.err == nil {
		k := copy(p.buf[len(p.buf):hugePage], b[n:])
		p.buf = p.buf[:len(p.buf)+k]
		n += k
		if len(p.buf) == hugePage {
			p.err = p.flush()
		}
	}
	return n, p.err
}

// flush writes what is collected; only the end of a file may be less than a huge page.
func (p *pageWriter) flush() error {
	if p.err == nil && len(p.buf) > 0 {
		_, p.err = p.w.Write(p.buf)
		p.buf = p.buf[:0]
	}
	return p.err
}
