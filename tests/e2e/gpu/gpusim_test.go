package gpu

import (
	"crypto/sha256"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

const onGPUSim = "target gpusim like=gpusim space=gpusim\ntarget cpu like=cpu\n"

// simulatedGPUs divide the model between simulated GPUs and other backends.
var simulatedGPUs = []e2etest.Machine{
	{Name: "whole", Targets: onGPUSim, Flags: []string{"--deny", "cpu"}},
	{Name: "the first layers", Targets: onGPUSim, Flags: []string{"--pin", "blk.[0-1].*=gpusim", "--pin", "(blk.[2-4]|output).*=cpu"}},
	{Name: "two devices", Targets: "target fake:0 like=fake space=fake:0 ops=-rope_table\ntarget gpusim like=gpusim space=gpusim ops=-rope_table\ntarget cpu like=cpu\n",
		Flags: []string{"--pipeline", "2", "--pin", "blk.0.*=fake:0", "--pin", "blk.1.*=cpu", "--pin", "blk.2.*=gpusim", "--pin", "(blk.[3-4]|output).*=cpu"}},
	{Name: "attention of two GPUs", Targets: "target gpusim:0 like=gpusim space=a\ntarget gpusim:1 like=gpusim space=b queues=2\ntarget cpu like=cpu\n",
		Flags: []string{"--pipeline", "3", "--pin", "blk.[0-2].*attn.*=gpusim:0", "--pin", "blk.[3-4].*attn.*=gpusim:1", "--pin", "(blk.*ffn|output).*=cpu"}},
	{Name: "memory of the host", Targets: "target gpusim like=gpusim space=host\ntarget cpu like=cpu\n", Flags: []string{"--pin", "blk.1.*=gpusim", "--pin", "(blk.[02-4]|output).*=cpu"}},
}

// gpuSimTokens is how many tokens simulated GPUs generate, which are a thousand times as slow as the processor.
const gpuSimTokens = 3

// TestSimulatedGPUsTellTheSame runs the model on simulated GPUs, which look for all faults of kernels. Prompts take
// several steps.
func TestSimulatedGPUsTellTheSame(t *testing.T) {
	refs := e2etest.AIDreamsReferences(t)
	for i, m := range simulatedGPUs {
		t.Run(m.Name, func(t *testing.T) {
			if i > 2 {
				needtest.Slow(t, "e2e")
			}
			exe := m.MustBuildOn(t)
			ref := refs[i%len(refs)]
			ref.Greedy = ref.Greedy[:gpuSimTokens]
			e2etest.Executable(exe, "--gpusim-seed", fmt.Sprint(i), "--gpusim-lanes", fmt.Sprint(4<<i)).Tells(t, ref)
		})
	}
}

// mainOf is the rest of a program whose package ggmlc gen has written.
var mainOf = map[string]string{
	"go.mod":        "module program\n\ngo 1.26\n\nrequire " + codegen.ModulePath + " v0.0.0\n\nreplace " + codegen.ModulePath + " => ./ggmlc\n",
	"main.go":       "package main\n\nimport \"program/story\"\n\nfunc main() { story.Main() }\n",
	"story/main.go": "package story\n\nimport \"" + codegen.ModulePath + "/runtime\"\n\n// Main is the command line.\nfunc Main() { runtime.Main(&program) }\n",
}

// TestKernelWithoutBarrierIsNoticed takes a barrier out of each kernel of an emitted program. The program ends with
// status 4 and names the kernel, the node, the step, the split and the threads.
func TestKernelWithoutBarrierIsNoticed(t *testing.T) {
	dir := t.TempDir()
	story := filepath.Join(dir, "story")
	e2etest.GGMLC(t, "gen", e2etest.AIDreams(t), "-o", story, "--package", "story", "--targets", "gpusim,cpu", "--kv", "f32", "--batch", "4")
	if err := codegen.WriteSources(filepath.Join(dir, "ggmlc")); err != nil {
		t.Fatal(err)
	}
	for name, text := range mainOf {
		e2etest.WriteFile(t, filepath.Join(dir, name), []byte(text))
	}
	build := func() {
		t.Helper()
		c := exec.Command("go", "build", "-o", "exe", ".")
		c.Dir, c.Env = dir, append(c.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	run := func(seed int) (string, int) {
		c := exec.Command(filepath.Join(dir, "exe"), "--tokens", "1,2", "-n", "1", "--gpusim-seed", fmt.Sprint(seed))
		out, _ := c.CombinedOutput()
		return string(out), c.ProcessState.ExitCode()
	}
	build()
	if out, status := run(1); status != 0 {
		t.Fatalf("as it was emitted: status %d\n%s", status, out)
	}
	file := filepath.Join(story, "kernels.kir")
	replaceKernels(t, file, withoutSecondBarriers(string(e2etest.ReadFile(t, file))))
	build()
	place := regexp.MustCompile(`@prefill split \d+(\[l=\d+\])? failed on gpusim: step 1: %\S+ \S+: kernel "[^"]*": \w+: group \d+ thread \d+: ` +
		`instruction \d+ \(.*\): (race|uninitialised): .*: this is a bug of ggmlc`)
	threads := regexp.MustCompile(`: group \d+ thread \d+: instruction .*: race: .* is also \w+ by (group \d+ thread|several threads of group) \d+`)
	races := 0
	for seed := range 5 {
		out, status := run(seed)
		if status != 4 || !place.MatchString(out) {
			t.Errorf("seed %d: status %d\n%s", seed, status, out)
		}
		if threads.MatchString(out) {
			races++
		}
	}
	if races == 0 {
		t.Error("no seed reports a race")
	}
}

// replaceKernels writes a file of kernels, and its hash to the program beside it, which refuses any other.
func replaceKernels(t *testing.T, file, text string) {
	t.Helper()
	before, program := fmt.Sprintf("%x", sha256.Sum256(e2etest.ReadFile(t, file))), filepath.Join(filepath.Dir(file), "program.go")
	code := string(e2etest.ReadFile(t, program))
	if strings.Count(code, before) != 1 {
		t.Fatalf("%s does not have the hash %s of %s", program, before, file)
	}
	e2etest.WriteFile(t, file, []byte(text))
	e2etest.WriteFile(t, program, []byte(strings.Replace(code, before, fmt.Sprintf("%x", sha256.Sum256([]byte(text))), 1)))
}

// withoutSecondBarriers returns the kernels of a text without the second barrier of each, at equal lengths, as kernels
// are found by their places.
func withoutSecondBarriers(text string) string {
	kernels := strings.Split(text, "\nkernel ")
	for i, k := range kernels {
		if parts := strings.SplitN(k, "barrier\n", 3); len(parts) == 3 {
			kernels[i] = parts[0] + "barrier\n" + parts[1] + "// none\n" + parts[2]
		}
	}
	return strings.Join(kernels, "\nkernel ")
}

// TestProgramsForSimulatedGPUsAreStatic builds a program without a module cache, from the sources that ggmlc carries.
func TestProgramsForSimulatedGPUsAreStatic(t *testing.T) {
	dir := t.TempDir()
	module, exe := filepath.Join(dir, "add.ggir"), filepath.Join(dir, "add")
	e2etest.WriteFile(t, module, []byte("ggir 1\nprops imported\nfunc @f(%x: f32[4]) -> (y: f32[4]) {\n  %y = add %x, %x\n  return %y\n}\n"))
	e2etest.Command{Args: []string{e2etest.Path(), "build", module, "-o", exe, "--targets", "gpusim,cpu"}, Env: []string{"GOMODCACHE=" + filepath.Join(dir, "none")}}.Run(t)
	help := string(e2etest.Command{Args: []string{exe, "call", "-h"}}.Run(t))
	for _, flag := range []string{"--gpusim-seed N", "--gpusim-check WHAT", "--gpusim-lanes N"} {
		if !strings.Contains(help, flag) {
			t.Errorf("no %s in the help:\n%s", flag, help)
		}
	}
	if strings.Contains(string(e2etest.ReadFile(t, exe)), "purego") {
		t.Error("the program has purego")
	}
}
