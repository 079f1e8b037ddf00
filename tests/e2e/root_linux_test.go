package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// emptyRoot runs the executable in a root folder without any other file: no /proc, no libraries, no temporary folder.
func emptyRoot(t *testing.T, exe string) {
	if os.Geteuid() != 0 {
		needtest.Skip(t, "root", "only root can change the root folder")
	}
	root := t.TempDir()
	e2etest.CopyFile(t, exe, filepath.Join(root, "story"))
	if err := os.Chmod(filepath.Join(root, "story"), 0o755); err != nil {
		t.Fatal(err)
	}
	ref := e2etest.AIDreamsReferences(t)[0]
	args := []string{"/story", "--prompt", ref.Prompt, "-n", "96", "--json", "--logits", "--ignore-eos"}
	c := e2etest.Command{Args: args, Dir: "/", Set: func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	}}
	lines, err := e2etest.ParseTokens(c.Run(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := ref.Compare(lines); err != nil {
		t.Error(err)
	}
}

// withoutNetwork runs a command in an empty network namespace.
func withoutNetwork(t *testing.T) func(*exec.Cmd) {
	if os.Geteuid() != 0 {
		t.Log("not root: the network is only switched off by GOPROXY=off")
		return nil
	}
	return func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	}
}
