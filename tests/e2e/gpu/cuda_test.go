package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/cuda"
	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

const onCUDA = "target cuda like=cuda space=cuda\ntarget cpu like=cpu\n"

// cudaMachines divide the model between an NVIDIA GPU, the processor and a simulated device.
var cudaMachines = []e2etest.Machine{
	{Name: "whole", Targets: onCUDA, Flags: []string{"--deny", "cpu"}},
	{Name: "the first layers", Targets: onCUDA, Flags: []string{"--pin", "blk.[0-1].*=cuda", "--pin", "(blk.[2-3]|output).*=cpu"}},
	{Name: "attention", Targets: onCUDA, Flags: []string{"--pin", "blk.*.attn.*=cuda", "--pin", "blk.*.ffn.*=cpu"}},
	{Name: "two devices", Targets: "target fake:0 like=fake space=fake:0 ops=-rope_table\ntarget cuda like=cuda space=cuda ops=-rope_table\ntarget cpu like=cpu\n",
		Flags: []string{"--pin", "blk.0.*=fake:0", "--pin", "blk.1.*=cpu", "--pin", "blk.2.*=cuda", "--pin", "(blk.3|output).*=cpu"}},
	{Name: "no events", Targets: "target cuda like=cuda space=cuda events=false\ntarget cpu like=cpu\n", Flags: []string{"--pin", "blk.[1-2].*=cuda", "--pin", "blk.[03].*=cpu"}},
	{Name: "segments", Targets: onCUDA, Flags: []string{"--ctx", "2048", "--deny", "cpu"}},
	{Name: "two queues", Targets: "target cuda like=cuda space=cuda queues=2\ntarget cpu like=cpu\n", Flags: []string{"--pin", "blk.[1-3].*=cuda", "--pin", "blk.0.*=cpu"}},
}

// patientCUDA are flags for a simulated driver, which computes a step in seconds of processor time, beside other tests.
var patientCUDA = []string{"--cuda-timeout", "2m"}

// hasCUDA reports whether there is a GPU with its driver.
func hasCUDA(t *testing.T) bool {
	t.Helper()
	d, err := new(cuda.Loader).Open(&runtime.DeviceInfo{Name: "cuda", Queues: []string{"cuda"}}, 0, new(runtime.Supervisor))
	if err == nil {
		return d.Close() == nil
	}
	if needtest.Required("cuda") {
		t.Fatalf("GGMLC_REQUIRE names cuda: %v", err)
	}
	return false
}

// simulatedCUDA makes the simulated driver, once for all tests, and returns the folder of its library.
func simulatedCUDA(t *testing.T) string {
	t.Helper()
	needtest.Tool(t, "cudasim", "gcc")
	dir := filepath.Join(filepath.Dir(e2etest.Path()), "cudasim")
	library := filepath.Join(dir, "libcuda.so.1")
	if _, err := os.Stat(library); err == nil {
		return dir
	}
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", library, filepath.Join(needtest.Root(t), "tests", "cudasim", "testdata", "libcuda"))
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// TestCUDATellsTheSame runs the model on an NVIDIA GPU, alone and together with other backends, with one to three steps
// under way. Without a GPU the driver is a simulated one, which is slow, and which finds no wrong use.
func TestCUDATellsTheSame(t *testing.T) {
	refs := e2etest.AIDreamsReferences(t)
	real := hasCUDA(t)
	machines, tokens := cudaMachines, len(refs[0].Greedy)
	var env []string
	if !real {
		env, tokens = []string{"LD_LIBRARY_PATH=" + simulatedCUDA(t)}, 6
		if !needtest.Required("e2e") {
			machines, tokens = machines[:1], 4
		}
	}
	for i, m := range machines {
		t.Run(m.Name, func(t *testing.T) {
			exe := m.MustBuildOn(t, "--pipeline", string(rune('1'+i%3)))
			p := e2etest.Executable(exe, patientCUDA...)
			found := filepath.Join(t.TempDir(), "found")
			p.Env = append(env, "GGMLC_CUDASIM="+found)
			ref := refs[i%len(refs)]
			ref.Greedy = ref.Greedy[:tokens]
			p.Tells(t, ref)
			if real {
				return
			}
			if text, err := os.ReadFile(found); err != nil || len(text) > 0 {
				t.Errorf("the driver finds: %s (%v)", text, err)
			}
		})
	}
}

// TestCUDAInMemoryOfTheHostTellsTheSame runs the model on GPUs that share the memory of the processor. Weights are
// embedded, or mapped from a file.
func TestCUDAInMemoryOfTheHostTellsTheSame(t *testing.T) {
	refs := e2etest.AIDreamsReferences(t)
	real := hasCUDA(t)
	var env []string
	tokens := len(refs[0].Greedy)
	if !real {
		env, tokens = []string{"LD_LIBRARY_PATH=" + simulatedCUDA(t)}, 6
	}
	for i, m := range sharedMachines {
		t.Run(m.Name, func(t *testing.T) {
			if i > 1 {
				needtest.Slow(t, "e2e")
			}
			m.Targets = strings.ReplaceAll(m.Targets, "vulkan", "cuda")
			flags := []string{"--pipeline", string(rune('1' + i%4))}
			for _, f := range m.Flags {
				flags = append(flags, strings.ReplaceAll(f, "vulkan", "cuda"))
			}
			m.Flags = nil
			var mapped []string
			if i%2 == 1 {
				mapped = []string{"--weights", filepath.Join(t.TempDir(), "story.weights")}
			}
			exe := m.MustBuildOn(t, append(flags, mapped...)...)
			checkPlan(t, exe, "cuda", m.copies)
			p := e2etest.Executable(exe, slices.Concat(patientCUDA, mapped)...)
			found := filepath.Join(t.TempDir(), "found")
			p.Env = append(env, "GGMLC_CUDASIM="+found)
			ref := refs[i%len(refs)]
			ref.Greedy = ref.Greedy[:tokens]
			p.Tells(t, ref)
			if real {
				return
			}
			if text, err := os.ReadFile(found); err != nil || len(text) > 0 {
				t.Errorf("the driver finds: %s (%v)", text, err)
			}
		})
	}
}

// TestCUDAProfile runs a program that is built with --profile: its trace has the kernels of the GPU.
func TestCUDAProfile(t *testing.T) {
	ref := e2etest.AIDreamsReferences(t)[0]
	p := e2etest.Executable(cudaMachines[1].MustBuildOn(t, "--profile", "--pipeline", "2"))
	found := ""
	if !hasCUDA(t) {
		found = filepath.Join(t.TempDir(), "found")
		p.Env = []string{"LD_LIBRARY_PATH=" + simulatedCUDA(t), "GGMLC_CUDASIM=" + found}
		ref.Greedy = ref.Greedy[:8]
	}
	checkProfile(t, p, "cuda", ref)
	if found == "" {
		return
	}
	if text, err := os.ReadFile(found); err != nil || len(text) > 0 {
		t.Errorf("the driver finds: %s (%v)", text, err)
	}
}

// TestCUDAFailures runs a program where there is no driver, where the device is lost in the middle of a step, where the
// driver refuses PTX, and where a kernel has no end.
func TestCUDAFailures(t *testing.T) {
	if hasCUDA(t) {
		t.Skip("skip: there is a GPU, whose driver is not the simulated one")
	}
	exe := cudaMachines[0].MustBuildOn(t)
	lib := simulatedCUDA(t)
	for _, c := range []struct {
		name, lib, fault string
		want             []string
	}{
		{"no driver", t.TempDir(), "", []string{"cuda: there is no CUDA driver: install NVIDIA's driver for the GPU"}},
		{"lost", lib, "cuGraphLaunch:2:719", []string{"failed on cuda", "split ", "step 2 on Simulated GPU (CUDA 12.8)", "CUDA_ERROR_LAUNCH_FAILED"}},
		{"refused", lib, "cuModuleLoadDataEx:3:218", []string{"failed on cuda", "kernel ", "the driver refuses the PTX", "CUDA_ERROR_INVALID_PTX"}},
		{"endless", lib, "cuLaunchKernel:7:hang", []string{"failed on cuda", "split ", " on Simulated GPU", "was done for 500ms", "--cuda-timeout"}},
		{"no memory", lib, "cuMemAlloc:1:2", []string{"cuda", "CUDA_ERROR_OUT_OF_MEMORY", "--max-memory"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			limit := "30s"
			if c.name == "endless" {
				limit = "500ms"
			}
			run := exec.Command(exe, "--prompt", "Once", "-n", "2", "--cuda-timeout", limit)
			run.Env = append(os.Environ(), "LD_LIBRARY_PATH="+c.lib, "GGMLC_CUDASIM_FAULT="+c.fault)
			began := time.Now()
			out, err := run.CombinedOutput()
			if run.ProcessState.ExitCode() != 1 || time.Since(began) > time.Minute {
				t.Errorf("error %v after %v\n%s", err, time.Since(began), out)
			}
			for _, want := range c.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
}
