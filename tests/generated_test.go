package tests

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

// TestGeneratedFilesAreCurrent generates all files again in a copy of the tree and compares them.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	needtest.Slow(t, "generate")
	root, again := needtest.Root(t), t.TempDir()
	files := tracked(t, root)
	for _, name := range files {
		copyTracked(t, root, again, name)
	}
	for _, dir := range []string{".", "examples/stories"} {
		cmd := exec.Command("go", "generate", "./...")
		cmd.Dir = filepath.Join(again, dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go generate in %s: %v\n%s", dir, err, out)
		}
	}
	for _, name := range files {
		was, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // removed but not yet committed
		}
		is, err2 := os.ReadFile(filepath.Join(again, name))
		if err != nil || err2 != nil || !bytes.Equal(was, is) {
			t.Errorf("%s is not what go generate makes (%v, %v)", name, err, err2)
		}
	}
}

// tracked returns the files that git knows or would add.
func tracked(t *testing.T, root string) []string {
	git := needtest.Tool(t, "generate", "git")
	cmd := exec.Command(git, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		needtest.Skip(t, "generate", "no git repository: %v", err)
	}
	var files []string
	for name := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		files = append(files, string(name))
	}
	return files
}

func copyTracked(t *testing.T, from, to, name string) {
	data, err := os.ReadFile(filepath.Join(from, name))
	if os.IsNotExist(err) {
		return
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(to, filepath.Dir(name)), 0o777)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(to, name), data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}
