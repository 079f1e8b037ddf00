package service

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// TestStepsOfPackages generates packages for the processor, for two simulated devices with several steps in flight, and
// for a simulated GPU, and runs the tests and examples of testdata/steps in a module that uses them.
func TestStepsOfPackages(t *testing.T) {
	needtest.Slow(t, "e2e")
	dir, root := t.TempDir(), needtest.Root(t)
	e2etest.WriteFile(t, filepath.Join(dir, "go.mod"), []byte("module example.com/steps\n\ngo 1.26\n\nrequire github.com/ggmlc/ggmlc v0.0.0\n\n"+
		"replace github.com/ggmlc/ggmlc => "+root+"\n"))
	two := filepath.Join(dir, "two.targets")
	e2etest.WriteFile(t, two, []byte("target fake:0 like=fake space=fake:0\ntarget fake:1 like=fake space=fake:1\ntarget cpu like=cpu\n"))
	random := filepath.Join(dir, "random.gguf")
	e2etest.WriteModel(t, random, archtest.Models()[0])
	split := []string{"--target-file", two, "--pin", "blk.0.*=fake:0", "--pin", "(blk.1|output).*=fake:1"}
	gen := func(pkg, model string, flags ...string) {
		e2etest.GGMLC(t, append([]string{"gen", model, "-o", filepath.Join(dir, pkg), "--package", pkg}, flags...)...)
	}
	small := []string{"--ctx", "64", "--batch", "4"}
	gen("story", e2etest.Demo(t), small...)
	gen("split", e2etest.Demo(t), append(append(small, split...), "--pipeline", "3")...)
	gen("random", random, append(append(small, split...), "--pipeline", "2")...)
	gen("sim", e2etest.Demo(t), append(small, "--targets", "gpusim,cpu", "--pin", "blk.0.*=gpusim", "--pipeline", "2")...)
	gen("parity", filepath.Join(root, "examples", "mlp", "mlp.ggir"))
	e2etest.CopyFile(t, filepath.Join("testdata", "steps", "steps_test.go"), filepath.Join(dir, "steps_test.go"))
	test := exec.Command("go", "test", "-count=1", ".")
	test.Dir, test.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off")
	if out, err := test.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
