//go:build unix

package gguf

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOpenPipe: a pipe that nobody writes to must not block.
func TestOpenPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("skip: no pipes here: %v", err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "is a pipe") {
		t.Error(err)
	}
}
