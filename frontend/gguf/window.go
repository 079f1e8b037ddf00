package gguf

import "io"

// window reads a file through a buffer. It is for many small reads in ascending order, by one goroutine.
type window struct {
	r    io.ReaderAt
	size int64 // of the file
	buf  []byte
	off  int64 // of buf in the file
}

func newWindow(r io.ReaderAt, size int64) *window { return &window{r: r, size: size} }

// ReadAt implements io.ReaderAt.
func (w *window) ReadAt(p []byte, off int64) (int, error) {
	if len(p) >= cursorBuf || off < 0 {
		return w.r.ReadAt(p, off)
	}
	if off < w.off || off+int64(len(p)) > w.off+int64(len(w.buf)) {
		if err := w.move(off, len(p)); err != nil {
			return 0, err
		}
	}
	n := copy(p, w.buf[off-w.off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// move fills the buffer from off on. It is an error if fewer than n bytes remain in the file.
func (w *window) move(off int64, n int) error {
	if w.buf == nil {
		w.buf = make([]byte, 0, cursorBuf)
	}
	want := max(n, int(min(cursorBuf, max(0, w.size-off))))
	got, err := w.r.ReadAt(w.buf[:want], off)
	w.buf, w.off = w.buf[:got], off
	if got >= n {
		return nil
	}
	if err == nil {
		err = io.EOF
	}
	return err
}
