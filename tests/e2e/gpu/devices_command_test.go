package gpu

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// runDevices runs ggmlc devices.
func runDevices(t *testing.T, env []string, args ...string) (status int, out, errs string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), e2etest.Path(), append([]string{"devices"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// TestDevicesWithoutDriver: without a driver there is the processor, and what to install. Work on a GPU needs one. The
// program that looks for drivers is built once.
func TestDevicesWithoutDriver(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.json")
	env := append(needtest.CacheEnv(t, t.TempDir()), "VK_DRIVER_FILES="+none, "VK_ICD_FILENAMES="+none, "CUDA_VISIBLE_DEVICES=")
	status, out, errs := runDevices(t, env)
	if status != 0 || errs != "" || !strings.HasPrefix(out, "cuda: there is no ") || !strings.Contains(out, "\nvulkan: ") || !strings.Contains(out, "install") || !strings.Contains(out, "\ncpu  ") {
		t.Fatalf("exit status %d: %s%s", status, out, errs)
	}
	env = append(env, "PATH=") // without the Go command
	file := filepath.Join(t.TempDir(), "gpu.target")
	for _, args := range [][]string{{"--check"}, {"--measure", "-o", file}} {
		status, out, errs := runDevices(t, env, args...)
		lines := strings.Split(errs, "\n")
		if status != 1 || out != "" || len(lines) != 4 || !strings.HasPrefix(lines[0], "ggmlc: cuda: ") || !strings.HasPrefix(lines[1], "ggmlc: vulkan: ") ||
			lines[2] != "ggmlc: there is no GPU to work on" {
			t.Errorf("%v: exit status %d: %s%s", args, status, out, errs)
		}
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("--measure wrote a file although it failed")
	}
	list := e2etest.Command{Args: []string{e2etest.Path(), "cache"}, Env: env}.Run(t)
	if !bytes.Contains(list, []byte("  ggmlc devices\n1 program, ")) {
		t.Errorf("the cache has\n%s", list)
	}
}

// TestDevicesOfVulkan lists the device that Vulkan drives, and chooses one that there is not.
func TestDevicesOfVulkan(t *testing.T) {
	needVulkan(t)
	env := needtest.CacheEnv(t, t.TempDir())
	status, out, errs := runDevices(t, env)
	if status != 0 || !strings.Contains("\n"+out, "\nvulkan:0  ") || errs != "" {
		t.Errorf("exit status %d: %s%s", status, out, errs)
	}
	if !hasCUDA(t) && strings.Count(out, "\ncuda: there is no ") != 1 {
		t.Errorf("not one line says that there is no CUDA:\n%s", out)
	}
	if status, _, errs := runDevices(t, env, "--check", "--device", "other:7"); status != 2 || !strings.Contains(errs, "ggmlc: --device other:7: there is no such device: give one of ") ||
		!strings.Contains(errs, "vulkan:0 (") {
		t.Errorf("exit status %d: %s", status, errs)
	}
}

// cudaEnv returns the environment in which ggmlc devices finds the GPU that the CUDA driver has, or a simulated one
// where there is none. check fails the test if the simulated driver found a wrong use.
func cudaEnv(t *testing.T) (env []string, check func()) {
	t.Helper()
	env = needtest.CacheEnv(t, t.TempDir())
	if hasCUDA(t) {
		return env, func() {}
	}
	found := filepath.Join(t.TempDir(), "found")
	return append(env, "LD_LIBRARY_PATH="+simulatedCUDA(t), "GGMLC_CUDASIM="+found), func() {
		t.Helper()
		if text, err := os.ReadFile(found); err != nil || len(text) > 0 {
			t.Errorf("the driver finds: %s (%v)", text, err)
		}
	}
}

// TestDevicesOfCUDA lists and measures the GPU that the CUDA driver has.
func TestDevicesOfCUDA(t *testing.T) {
	env, check := cudaEnv(t)
	status, out, errs := runDevices(t, env)
	if status != 0 || errs != "" || !strings.HasPrefix(out, "cuda:0  ") || !strings.Contains(out, "    programs for cuda take it unless --cuda-device names another\n") {
		t.Fatalf("exit status %d: %s%s", status, out, errs)
	}
	file := filepath.Join(t.TempDir(), "gpu.target")
	if status, out, errs := runDevices(t, env, "--measure", "--device", "cuda", "-o", file); status != 0 || out+errs != "" {
		t.Fatalf("exit status %d: %s%s", status, out, errs)
	}
	if _, err := target.Parse(file, string(e2etest.ReadFile(t, file))); err != nil {
		t.Error(err)
	}
	check()
}

// TestDevicesCheckCUDA runs the suite with all kernels that programs have for the GPU.
func TestDevicesCheckCUDA(t *testing.T) {
	needtest.Slow(t, "e2e")
	env, check := cudaEnv(t)
	status, out, errs := runDevices(t, env, "--check", "--device", "cuda")
	if status != 0 || errs != "" || strings.Count(out, "    sizes    150 passed, 0 failed") != strings.Count(out, "  kernels for sm_") || !strings.Contains(out, "\n  kernels for sm_70\n") {
		t.Errorf("exit status %d: %s%s", status, out, errs)
	}
	check()
}
