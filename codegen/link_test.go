package codegen

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestWeightsAreCopiedWhereNoLinkIsPossible: the build has the weights beside the program, as a second name
// of the file or as a copy of it.
func TestWeightsAreCopiedWhereNoLinkIsPossible(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "weights")
	want := bytes.Repeat([]byte("weights "), 1000)
	if err := os.WriteFile(from, want, 0o666); err != nil {
		t.Fatal(err)
	}
	taken := filepath.Join(dir, "taken") // a name that exists cannot be linked
	if err := os.WriteFile(taken, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{filepath.Join(dir, "linked"), taken} {
		if err := linkOrCopy(from, to); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes (%v), want %d", filepath.Base(to), len(got), err, len(want))
		}
	}
	if err := linkOrCopy(filepath.Join(dir, "missing"), filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
	if err := linkOrCopy(from, filepath.Join(dir, "no such folder", "w")); !os.IsNotExist(err) {
		t.Errorf("a missing folder: %v", err)
	}
}
