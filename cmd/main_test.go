package cmd

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ggmlc/ggmlc/codegen/backend"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime"
)

// asCommand makes this test binary a ggmlc with a backend that is registered twice and a layout that is none.
const asCommand = "GGMLC_TEST_BACKENDS"

func init() {
	if os.Getenv(asCommand) == "" {
		return
	}
	backend.NewLayout(dtype.Packing{Name: "r16"})
	for _, module := range []string{"example.com/one", "example.com/two"} {
		backend.Register(backend.Backend{
			Target: func() *target.Descriptor {
				return &target.Descriptor{Name: "dsp", Kind: "dsp", Like: "dsp", Spaces: []string{"dsp"}, Threads: 1, Hint: 1, Align: 64}
			},
			Module: module, Package: module + "/dsprt", Sources: fstest.MapFS{"dsprt/dsp.go": {Data: fmt.Appendf(nil,
				"package dsprt\n\nconst Version, Generation = 1, %d\n\ntype (\n\tLoader struct{}\n\tKernel func(e *Env, iteration int)\n\tEnv struct{}\n)\n", runtime.MaxVersion)}},
		})
	}
	Main()
}

// TestWrongBackendsEndEveryCommand: what is wrong with backends of other modules is reported by any command.
func TestWrongBackendsEndEveryCommand(t *testing.T) {
	const want = `ggmlc: layout r16: groups of 0 rows: write 1 to 64
ggmlc: backend dsp of example.com/two: example.com/one has registered a backend of this name: import one of the two
`
	for _, args := range []string{"version", "explain missing.gguf", "targets"} {
		c := exec.Command(os.Args[0], strings.Fields(args)...)
		c.Env = append(os.Environ(), asCommand+"=1")
		var stdout, stderr strings.Builder
		c.Stdout, c.Stderr = &stdout, &stderr
		if err := c.Run(); c.ProcessState.ExitCode() != exitModel {
			t.Errorf("%s: %v, want status %d", args, err, exitModel)
		}
		if stdout.Len() > 0 || stderr.String() != want {
			t.Errorf("%s: output %q, errors %q", args, stdout.String(), stderr.String())
		}
	}
}
