package codegen

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// pieces records what is written, and where each write ended.
type pieces struct {
	bytes.Buffer
	ends []int
	full error // what writes beyond the first return
}

func (p *pieces) Write(b []byte) (int, error) {
	if p.full != nil && len(p.ends) > 0 {
		return 0, p.full
	}
	n, err := p.Buffer.Write(b)
	p.ends = append(p.ends, p.Len())
	return n, err
}

// inPages checks that writes end at multiples of huge pages and at the end of what was expected.
func (p *pieces) inPages(t *testing.T, at int, want []byte) {
	t.Helper()
	if !bytes.Equal(p.Bytes(), want) {
		t.Errorf("%d bytes were written that differ from the %d given", p.Len(), len(want))
	}
	for i, end := range p.ends {
		if (at+end)%hugePage != 0 && i < len(p.ends)-1 {
			t.Errorf("write %d of %d ends at %#x", i, len(p.ends), at+end)
		}
	}
	if wantWrites := (at+len(want)+hugePage-1)/hugePage - at/hugePage; len(p.ends) != wantWrites {
		t.Errorf("%d writes, want %d", len(p.ends), wantWrites)
	}
}

// count returns n bytes that differ from one huge page to the next.
func count(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i % 251)
	}
	return b
}

func TestPageWriterWritesWholePages(t *testing.T) {
	all := count(3*hugePage + 12345)
	for _, step := range []int{1 << 20, 3_000_000, 5 * hugePage, 77_777} {
		var out pieces
		w := newPageWriter(&out)
		for rest := all; len(rest) > 0; rest = rest[min(step, len(rest)):] {
			if n, err := w.Write(rest[:min(step, len(rest))]); err != nil || n != min(step, len(rest)) {
				t.Fatalf("Write: %d, %v", n, err)
			}
		}
		if err := w.flush(); err != nil {
			t.Fatal(err)
		}
		out.inPages(t, 0, all)
	}
}

func TestPageWriterReportsAFullDisk(t *testing.T) {
	full := errors.New("the disk is full")
	w := newPageWriter(&pieces{full: full})
	if _, err := w.Write(count(hugePage + 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(count(hugePage)); err != full {
		t.Errorf("Write to a full disk: %v", err)
	}
	if err := w.flush(); err != full {
		t.Errorf("flush after an error: %v", err)
	}
}

func TestCopyFileCopiesFromOffsets(t *testing.T) {
	all := count(2*hugePage + 999)
	name := filepath.Join(t.TempDir(), "weights")
	if err := os.WriteFile(name, all, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int64{0, 64 << 10, hugePage, hugePage - 999} {
		var out pieces
		if err := copyFile(t.Context(), &out, at, name, int64(len(all))); err != nil {
			t.Fatal(err)
		}
		out.inPages(t, int(at), all)
	}
	if err := copyFile(t.Context(), &pieces{}, 0, name, int64(len(all))+1); err == nil {
		t.Error("a file that has become shorter was copied")
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if err := copyFile(done, &pieces{}, 0, name, int64(len(all))); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
