package runtime

import (
	"bytes"
	"strings"
	"testing"
)

// TestNPYHeaderIsADict: members of the header are separated by commas, and the last one is followed by a brace,
// with or without a comma before it.
func TestNPYHeaderIsADict(t *testing.T) {
	const open = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)"
	for header, want := range map[string]string{open: "wanted", open + ",": "", open + "]": "wanted", strings.Replace(open, ", 'shape'", " 'shape'", 1) + "}": "wanted"} {
		if _, err := ReadNPY(bytes.NewReader(npy(header, "12345678")), 1024); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", header, err, want)
		}
	}
	for _, header := range []string{open + "}", open + ", }", open + ",}"} {
		if _, err := ReadNPY(bytes.NewReader(npy(header, "12345678")), 1024); err != nil {
			t.Errorf("%s: %v", header, err)
		}
	}
}
