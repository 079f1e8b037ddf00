package gguf

import (
	"bytes"
	"strings"
	"testing"
)

// TestAlignmentIsAUint32: other types and other values of the alignment are refused when the file is written,
// since readers refuse them or read tensors at wrong offsets.
func TestAlignmentIsAUint32(t *testing.T) {
	for _, v := range []any{uint64(64), int32(64), uint16(64), "64", uint32(0), uint32(48)} {
		w := NewWriter()
		w.Set(alignmentKey, v)
		if _, err := w.WriteTo(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "is not a uint32 that is a power of two") {
			t.Errorf("%T %v: %v", v, v, err)
		}
	}
	for _, v := range []uint32{1, 8, 4096} {
		w := NewWriter()
		w.Set(alignmentKey, v)
		if _, err := w.WriteTo(&bytes.Buffer{}); err != nil {
			t.Errorf("%d: %v", v, err)
		}
	}
}
