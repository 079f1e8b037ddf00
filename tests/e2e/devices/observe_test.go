package devices

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// observed runs a program for a prompt of several chunks and two steps more, and returns the files of its steps.
func observed(t *testing.T, exe string, flags ...string) map[string][]byte {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "seen")
	args := append([]string{exe, "--tokens", "1,403,407,261,378,5,9,33,12,400,7,8", "-n", "3", "--temp", "0", "--ignore-eos", "--observe-to", dir}, flags...)
	e2etest.Command{Args: args}.Run(t)
	files := make(map[string][]byte)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = e2etest.ReadFile(t, path)
		return err
	})
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, error %v", len(files), err)
	}
	return files
}

// lines returns the lines of an index in any order.
func lines(index []byte) []string {
	list := strings.Split(string(index), "\n")
	slices.Sort(list)
	return list
}

// TestDevicesHandOutTheSame compares the values of all nodes on simulated devices, which are full of NaN and whose
// queues are late, with those of the processor.
func TestDevicesHandOutTheSame(t *testing.T) {
	needtest.Slow(t, "e2e")
	plain := e2etest.Build(t, e2etest.AIDreams(t), "--kv", "f32", "--batch", "4", "--observe", ".")
	want := observed(t, plain)
	for _, name := range []string{"two devices", "in every layer", "queues for copies", "no events", "no queues", "shared memory"} {
		at := slices.IndexFunc(machines, func(m e2etest.Machine) bool { return m.Name == name })
		for _, pipeline := range []string{"1", "2"} {
			t.Run(name+" "+pipeline, func(t *testing.T) {
				exe := machines[at].MustBuildOn(t, "--observe", ".", "--pipeline", pipeline)
				got := observed(t, exe, "--fake-seed", "3")
				if len(got) != len(want) {
					t.Errorf("%d files, want %d", len(got), len(want))
				}
				for file, data := range want {
					same := bytes.Equal(got[file], data)
					if filepath.Base(file) == "index.tsv" { // the order of nodes is another
						same = slices.Equal(lines(got[file]), lines(data))
					}
					if !same {
						t.Errorf("%s differs", file)
					}
				}
			})
		}
	}
}
