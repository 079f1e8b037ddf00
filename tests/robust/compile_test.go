package robust

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// special returns paths of things that are not regular files, some of which it makes in dir.
func special(t *testing.T, dir string) []string {
	t.Helper()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	return []string{dir, fifo, loop, "/dev/zero", "/dev/null"}
}

// TestFilesThatAreNoModelsAreRefused gives other files to every command that reads a model.
func TestFilesThatAreNoModelsAreRefused(t *testing.T) {
	cc := ggmlc(t)
	dir := t.TempDir()
	paths := append(special(t, dir), filepath.Join(dir, "missing"))
	for name, data := range map[string]string{
		"empty": "", "G": "G", "magic": "GGUF", "text.gguf": "hello", "zeros": strings.Repeat("\x00", 1000),
		"empty.ggir": "", "junk.ggir": "hello", "binary.ggir": "GGUF\x03", "deep.ggir": strings.Repeat("(", 1<<20),
		"version9": "GGUF\x09\x00\x00\x00" + strings.Repeat("\x00", 16),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	for _, path := range paths {
		for _, args := range [][]string{
			{"build", path, "-o", filepath.Join(dir, "out")},
			{"inspect", path},
			{"dump", path},
			{"gen", path, "-o", filepath.Join(dir, "pkg"), "--package", "p"},
			{"run", path, "--tokens", "1"},
		} {
			t.Run(args[0]+" "+filepath.Base(path), func(t *testing.T) {
				if path == filepath.Join(dir, "empty.ggir") && args[0] == "inspect" {
					t.Skip("skip: no text at all is a module without anything in it")
				}
				run(t, cc, args...).want(t, statusModel, path)
			})
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestWrongModelsAreRefused builds changed tiny models. Each causes an error that names the file.
func TestWrongModelsAreRefused(t *testing.T) {
	cc := ggmlc(t)
	nan := float32(math.NaN())
	set := func(key string, v any) func(*contents) {
		return func(c *contents) { c.set("llama."+key, v) }
	}
	for _, m := range []struct {
		name string
		edit func(*contents)
		say  string
	}{
		{"no layers", set("block_count", uint32(0)), "block_count"},
		{"513 layers", set("block_count", uint32(513)), "block_count"},
		{"two layers", set("block_count", uint32(2)), "blk.1."},
		{"no heads", set("attention.head_count", uint32(0)), "head_count"},
		{"seven heads", set("attention.head_count", uint32(7)), "head_count"},
		{"context 0", set("context_length", uint32(0)), "context_length"},
		{"width", set("embedding_length", uint32(32)), "token_embd"},
		{"epsilon NaN", set("attention.layer_norm_rms_epsilon", nan), "epsilon"},
		{"rope base 0", set("rope.freq_base", float32(0)), "freq_base"},
		{"string for number", set("block_count", "one"), "block_count"},
		{"experts", set("expert_count", uint32(8)), "expert_used_count"},
		{"architecture", func(c *contents) { c.set("general.architecture", "lama") }, "lama"},
		{"20,000 tensors", manyTensors, "no such tensor"},
		{"block scale NaN", q8(0x7e00), "output.weight"},
		{"block scale Inf", q8(0x7c00), "output.weight"},
		{"extra tensor", func(c *contents) { c.matrix("blk.0.attn_q.bias", 1, embd) }, "blk.0.attn_q.bias"},
		{"transposed", func(c *contents) { c.tensor("blk.0.ffn_up.weight").shape = []int{embd, ff} }, "blk.0.ffn_up.weight"},
	} {
		t.Run(m.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "model.gguf")
			tiny(t, path, m.edit)
			out := filepath.Join(t.TempDir(), "out")
			run(t, cc, "build", path, "-o", out).want(t, statusModel, path, m.say)
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), "*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			run(t, cc, "inspect", path).want(t, statusDone)
		})
	}
}

func manyTensors(c *contents) {
	for i := range 20000 {
		c.tensors = append(c.tensors, tensor{name: fmt.Sprintf("t%d", i), shape: []int{1}, at: func(int) float32 { return 0 }})
	}
}

// q8 stores the output matrix as q8_0, with these bits as the scale of its last block.
func q8(scale uint16) func(*contents) {
	return func(c *contents) {
		x := c.tensor("output.weight")
		x.typ, x.data = gguf.TensorQ8_0, make([]byte, dtype.Q8_0.Bytes(vocab*embd))
		binary.LittleEndian.PutUint16(x.data[len(x.data)-dtype.Q8_0.BlockBytes():], scale)
	}
}

// TestQuantizersRefuseNaNAndInfinity passes NaN and infinities to --quantize.
func TestQuantizersRefuseNaNAndInfinity(t *testing.T) {
	cc := ggmlc(t)
	for _, x := range []float32{float32(math.NaN()), float32(math.Inf(1)), 3e38} {
		path := filepath.Join(t.TempDir(), "model.gguf")
		tiny(t, path, func(c *contents) { c.tensor("blk.0.ffn_up.weight").at = func(int) float32 { return x } })
		for _, q := range []string{"Q8_0", "Q4_0"} {
			run(t, cc, "build", path, "-o", filepath.Join(t.TempDir(), "out"), "--quantize", q).want(t, statusModel, path, "blk.0.ffn_up.weight")
		}
	}
}

// TestImpossibleOutputsAreRefused names outputs that cannot be written.
func TestImpossibleOutputsAreRefused(t *testing.T) {
	cc := ggmlc(t)
	dir := t.TempDir()
	model := filepath.Join(dir, "model.gguf")
	tiny(t, model, nil)
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{filepath.Join(dir, "missing", "out"), filepath.Join(model, "out"), "/proc/out", dir} {
		run(t, cc, "build", model, "-o", out).want(t, statusModel, out)
		if out == dir {
			continue // these need a folder
		}
		run(t, cc, "dump", model, "-o", out).want(t, statusModel, out)
		if !strings.Contains(out, "missing") { // gen and dump --all create it
			run(t, cc, "gen", model, "-o", out, "--package", "p").want(t, statusModel, out)
			run(t, cc, "dump", model, "--all", "-o", out).want(t, statusModel, out)
		}
		run(t, cc, "build", model, "-o", filepath.Join(dir, "exe"), "--metafile", out).want(t, statusModel, out)
		os.Remove(filepath.Join(dir, "exe"))
	}
	after, err := os.ReadDir(dir)
	if err != nil || len(after) != len(before) {
		t.Errorf("files before %v, after %v, %v", before, after, err)
	}
}

// TestFullDiskLeavesNoFiles writes to file systems too small for the result.
func TestFullDiskLeavesNoFiles(t *testing.T) {
	cc := ggmlc(t)
	model := filepath.Join(t.TempDir(), "model.gguf")
	tiny(t, model, nil)
	for _, size := range []string{"16k", "512k", "2m"} {
		dir := t.TempDir()
		if err := syscall.Mount("none", dir, "tmpfs", 0, "size="+size); err != nil {
			needtest.Skip(t, "root", "a small file system cannot be mounted: %v", err)
		}
		t.Cleanup(func() { syscall.Unmount(dir, 0) })
		out := filepath.Join(dir, "out")
		run(t, cc, "build", model, "-o", out).want(t, statusModel, "no space left")
		if _, err := os.Stat(out); err == nil {
			t.Error("there is an executable, though the disk was full")
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
		if size == "16k" {
			run(t, cc, "gen", model, "-o", out, "--package", "p").want(t, statusModel, "no space left")
			run(t, cc, "dump", model, "--all", "-o", out).want(t, statusModel, "no space left")
			run(t, cc, "dump", model, "--after", "plan", "-o", filepath.Join(dir, "x")).want(t, statusModel, "no space left")
		}
	}
}

// TestMissingGoIsAnError removes the Go command from PATH.
func TestMissingGoIsAnError(t *testing.T) {
	cc := ggmlc(t)
	model := filepath.Join(t.TempDir(), "model.gguf")
	tiny(t, model, nil)
	cmd := exec.Command(cc, "build", model, "-o", filepath.Join(t.TempDir(), "out"))
	cmd.Env = []string{"PATH=/nowhere", "HOME=/nowhere"}
	finish(t, cmd).want(t, statusModel, "Go")
}

// TestInterruptedBuildLeavesNoFiles interrupts builds at many moments.
func TestInterruptedBuildLeavesNoFiles(t *testing.T) {
	cc := ggmlc(t)
	dir := t.TempDir()
	model := filepath.Join(dir, "model.gguf")
	tiny(t, model, nil)
	cmd := exec.Command(cc, "build", model, "-o", filepath.Join(dir, "out"), "--tags", "never_built_before")
	cmd.Env = append(os.Environ(), "GOCACHE="+filepath.Join(t.TempDir(), "cache"))
	p := start(t, cmd)
	waitFor(t, func() bool { m, _ := filepath.Glob(filepath.Join(dir, ".*")); return len(m) > 0 })
	p.cmd.Process.Signal(os.Interrupt)
	if o := p.end(); o.status == 0 || strings.Contains(o.stderr, "goroutine") {
		t.Errorf("status %d: %s", o.status, tail(o.stderr))
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestReadOnlyFolderIsAnError writes to a folder without permission.
func TestReadOnlyFolderIsAnError(t *testing.T) {
	cc := ggmlc(t)
	model := filepath.Join(t.TempDir(), "model.gguf")
	tiny(t, model, nil)
	dir := t.TempDir()
	if os.Getuid() == 0 { // permissions do not restrict root
		if err := syscall.Mount("none", dir, "tmpfs", syscall.MS_RDONLY, ""); err != nil {
			needtest.Skip(t, "root", "a read-only file system cannot be mounted: %v", err)
		}
		t.Cleanup(func() { syscall.Unmount(dir, 0) })
	} else if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	for _, args := range [][]string{
		{"build", model, "-o", out},
		{"build", model, "-o", filepath.Join(t.TempDir(), "exe"), "--weights", out},
		{"build", model, "-o", filepath.Join(t.TempDir(), "exe"), "--metafile", out},
		{"gen", model, "-o", out, "--package", "p"},
		{"dump", model, "-o", out},
		{"dump", model, "--all", "-o", out},
	} {
		run(t, cc, args...).want(t, statusModel, dir)
	}
}
