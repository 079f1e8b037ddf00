package driver

import (
	"bytes"

	"github.com/rogpeppe/go-internal/diff"
)

// UnifiedDiff returns the difference of two texts as the command patch reads it; empty if they are equal.
func UnifiedDiff(oldName, newName string, old, new []byte) string {
	_, text, _ := bytes.Cut(diff.Diff(oldName, old, newName, new), []byte("\n")) // it begins with a line for the pair
	return string(text)
}
