package gguf

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
)

// TestWindowReadsLikeTheFile: a window answers every read, forward or backward, inside the file or
// across its end, as the file itself does.
func TestWindowReadsLikeTheFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 3*cursorBuf+17)
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	file := bytes.NewReader(data)
	w := newWindow(file, int64(len(data)))
	for range 2000 {
		off, n := rng.Int64N(int64(len(data))+20), 1+rng.IntN(200)
		if rng.IntN(20) == 0 {
			n = cursorBuf - 100 + rng.IntN(200)
		}
		want, got := make([]byte, n), make([]byte, n)
		wantN, wantErr := file.ReadAt(want, off)
		gotN, gotErr := w.ReadAt(got, off)
		if gotN > wantN || gotErr != wantErr || !bytes.Equal(got[:gotN], want[:gotN]) || gotErr == nil && gotN < n {
			t.Fatalf("%d bytes at %d: %d bytes and %v, the file has %d and %v", n, off, gotN, gotErr, wantN, wantErr)
		}
	}
}

// brokenDisk returns err for reads that reach the offset good.
type brokenDisk struct {
	good int64
	err  error
}

func (d brokenDisk) ReadAt(p []byte, off int64) (int, error) {
	n := max(0, min(int64(len(p)), d.good-off))
	if n < int64(len(p)) {
		return int(n), d.err
	}
	return len(p), nil
}

// TestWindowReturnsReadErrors: a read error is returned as it is and is not reported as the end of the
// file. Bytes before the failing position can still be read.
func TestWindowReturnsReadErrors(t *testing.T) {
	bad := errors.New("the disk is broken")
	w := newWindow(brokenDisk{100, bad}, 1000)
	p := make([]byte, 60)
	if n, err := w.ReadAt(p, 40); n != len(p) || err != nil {
		t.Errorf("before the error: %d bytes and %v", n, err)
	}
	if _, err := w.ReadAt(p, 60); !errors.Is(err, bad) || errors.Is(err, io.EOF) {
		t.Errorf("the error is %v, want %v", err, bad)
	}
}
