//go:build unix

package gguf

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOpenRefusesPipes: opening a pipe without a writer must not block.
func TestOpenRefusesPipes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("skip: no pipes here: %v", err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "is a pipe") {
		t.Error(err)
	}
}
