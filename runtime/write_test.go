package runtime

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutputsReplaceRegularFilesOnly: a folder and a link to a device are refused and stay, and a file that is replaced
// keeps its permissions.
func TestOutputsReplaceRegularFilesOnly(t *testing.T) {
	dir := t.TempDir()
	link, old := filepath.Join(dir, "link"), filepath.Join(dir, "old")
	if err := errors.Join(os.Symlink(os.DevNull, link), os.WriteFile(old, nil, 0o600)); err != nil {
		t.Skip("skip: no links here: ", err)
	}
	put := func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }
	for path, want := range map[string]string{link: "not a regular file: renaming over it would destroy it", dir: "this is a folder"} {
		if err := writeWhole(path, put); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", path, err, want)
		}
	}
	if to, err := os.Readlink(link); to != os.DevNull {
		t.Errorf("the link is %q, %v", to, err)
	}
	if err := writeWhole(old, put); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(old)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 4 {
		t.Errorf("%v, %v", info, err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 2 {
		t.Errorf("left: %v", list)
	}
}
