//go:build !linux

package e2e

import (
	"os/exec"
	"testing"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

func emptyRoot(t *testing.T, _ string) {
	needtest.Skip(t, "root", "only Linux changes the root folder of a process")
}

func withoutNetwork(*testing.T) func(*exec.Cmd) { return nil }
