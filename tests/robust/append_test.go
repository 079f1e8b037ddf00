package robust

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// appended returns a program of the tiny model with appended weights, as large models have them. Tests copy it before
// they damage it.
func appended(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("skip: -short: whole programs are built")
	}
	path, err := buildAppended()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildAppended = sync.OnceValues(func() (string, error) {
	model, out := filepath.Join(folder, "appended.gguf"), filepath.Join(folder, "appended")
	if err := tinyFile(model, nil); err != nil {
		return "", err
	}
	ctx := context.Background()
	md, err := load(ctx, model)
	if err != nil {
		return "", err
	}
	defer md.Close()
	weights := out + ".blob"
	f, err := os.Create(weights)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash, err := codegen.PackWeights(ctx, md.Module, md, f, nil)
	if err != nil {
		return "", err
	}
	id, err := codegen.PlanID(md.Module)
	if err != nil {
		return "", err
	}
	p, err := codegen.Emit(md.Module, codegen.Options{Package: "main", Name: "tiny", Weights: codegen.Append, WeightsHash: hash, PlanID: id})
	if err != nil {
		return "", err
	}
	return out, codegen.Build(ctx, p, codegen.BuildOptions{Out: out, WeightsFile: weights,
		WeightsSize: codegen.WeightsBytes(md.Module), Weights: codegen.Append, WeightsHash: hash, PlanID: id})
})

// load imports and compiles a model in this process.
func load(ctx context.Context, path string) (*driver.Model, error) {
	md, err := driver.Load(ctx, path, driver.LoadOptions{KV: dtype.F32})
	if err != nil {
		return nil, err
	}
	targets, err := target.Select("cpu")
	if err == nil {
		_, err = driver.Compile(ctx, md, driver.CompileOptions{Targets: targets})
	}
	if err != nil {
		md.Close()
		return nil, err
	}
	return md, nil
}

// TestDamagedAppendedWeightsAreRefused damages an executable after its code.
func TestDamagedAppendedWeightsAreRefused(t *testing.T) {
	program := appended(t)
	args := []string{"--tokens", "1,2", "-n", "5"}
	run(t, program, args...).want(t, statusDone)
	run(t, program, "verify").want(t, statusDone)
	whole := bytesOf(t, program)
	for _, c := range []struct {
		name string
		size int
		say  string
	}{
		{"end cut", len(whole) - 1, "cut off"},
		{"trailer cut", len(whole) - 128, "cut off"},
		{"weights cut", len(whole) - 5000, "cut off"},
		{"appended to", len(whole) + 1, "appended"},
		{"appended to by a trailer's length", len(whole) + 128, "appended"},
	} {
		t.Run(c.name, func(t *testing.T) {
			exe := copyOf(t, program)
			if err := os.Truncate(exe, int64(c.size)); err != nil {
				t.Fatal(err)
			}
			run(t, exe, args...).want(t, statusModel, exe, c.say)
			run(t, exe, args[0], args[1], "--weights", program, "-n", "2").want(t, statusDone)
		})
	}
	t.Run("a changed byte", func(t *testing.T) {
		exe := copyOf(t, program)
		damage(t, exe, int64(len(whole)-5000), whole[len(whole)-5000]^1)
		for _, args := range [][]string{{"verify"}, args, append(args, "--verify")} {
			run(t, exe, args...).want(t, statusModel, exe, "SHA-256")
		}
	})
	t.Run("of another program", func(t *testing.T) {
		other, weights := beside(t)
		run(t, program, "--tokens", "1", "--weights", weights).want(t, statusModel, weights, "plan")
		run(t, other, "--tokens", "1", "--weights", program).want(t, statusModel, program, "plan")
	})
}

// TestAppendedPagesThatGoAreAnError cuts a file that is mapped as an executable's weights.
func TestAppendedPagesThatGoAreAnError(t *testing.T) {
	program := appended(t)
	file := copyOf(t, program)
	p := start(t, exec.Command(program, "--tokens", "1", "-n", "4000", "--ignore-eos", "--json", "--logits", "--weights", file))
	p.line()
	if err := os.Truncate(file, 100); err != nil {
		t.Fatal(err)
	}
	p.end().want(t, statusModel, file, "a page of the weights could not be read")
}

// TestEmptyRootSuffices runs a program in a root folder without any other file.
func TestEmptyRootSuffices(t *testing.T) {
	if os.Getuid() != 0 {
		needtest.Skip(t, "root", "only root may change the root folder")
	}
	program := appended(t)
	root := filepath.Dir(copyOf(t, program))
	for _, name := range []string{"/appended", "appended", "./appended"} {
		cmd := exec.Command("/appended", "--tokens", "1", "-n", "3")
		cmd.Args[0], cmd.Dir, cmd.Env = name, "/", []string{"PATH=/"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
		finish(t, cmd).want(t, statusDone)
	}
	cmd := exec.Command("/appended", "--tokens", "1", "-n", "3")
	cmd.Args[0], cmd.Dir, cmd.Env = "", "/", nil
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	finish(t, cmd).want(t, statusModel, "--weights")
}

// TestFewProcessorsGiveTheSameTokens gives two workers half a processor.
func TestFewProcessorsGiveTheSameTokens(t *testing.T) {
	group := "/sys/fs/cgroup/cpu/ggmlc-robust-test"
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skip("skip: a group with a quota cannot be made: ", err)
	}
	defer os.Remove(group)
	if err := os.WriteFile(group+"/cpu.cfs_quota_us", []byte("50000"), 0o644); err != nil {
		t.Skip("skip: a quota cannot be set: ", err)
	}
	program := appended(t)
	want := run(t, program, "--tokens", "1", "-n", "500", "--ignore-eos", "--threads", "1")
	cmd := exec.Command("sh", "-c", "echo $$ > "+group+"/cgroup.procs && exec "+program+" --tokens 1 -n 500 --ignore-eos --threads 2")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	got := finish(t, cmd)
	got.want(t, statusDone)
	if got.stdout != want.stdout {
		t.Error("half a processor gives other tokens")
	}
}

// TestSourceThatChangesIsAnError changes the model's file after its header is read and before its weights are.
func TestSourceThatChangesIsAnError(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: -short: models are compiled")
	}
	for _, c := range []struct {
		name   string
		change func(path string) error
	}{
		{"shrinks", func(path string) error { return os.Truncate(path, 4000) }},
		{"is empty", func(path string) error { return os.Truncate(path, 0) }},
		{"grows", func(path string) error { return os.Truncate(path, 1<<20) }},
		{"is written to", func(path string) error {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteAt([]byte{1, 2, 3}, 20000)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "model.gguf")
			tiny(t, path, nil)
			md, err := load(context.Background(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer md.Close()
			if err := c.change(path); err != nil {
				t.Fatal(err)
			}
			err = driver.Build(context.Background(), md, driver.OutputOptions{Out: filepath.Join(dir, "out")})
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("building from a file that changed: %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*out*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}
