package cmd

import (
	goruntime "runtime"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/tune"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestOtherMachineIsDescribed has figures of this machine, of other kernels, and of other systems.
func TestOtherMachineIsDescribed(t *testing.T) {
	here := "the program is for " + goruntime.GOOS + "/" + goruntime.GOARCH
	for _, c := range []struct{ goos, goarch, measured, want string }{
		{"", "", "", ""},
		{"", "", tune.Machine("generic"), ""},
		{"", "", tune.Machine("avx512"), "here the program runs the kernels generic"},
		{"", "", "plan9/mips/avx2", here},
		{"plan9", "mips", "plan9/mips/avx2", ""}, // which of its kernels it has is unknown here
		{"plan9", "mips", tune.Machine("generic"), "the program is for plan9/mips"},
	} {
		t.Setenv("GOOS", c.goos)
		t.Setenv("GOARCH", c.goarch)
		f := &compileFlags{cpu: []string{"generic"}}
		if got := f.otherMachine(&target.Descriptor{Measured: c.measured}); got != c.want {
			t.Errorf("measured on %q, for %q/%q: %q, want %q", c.measured, c.goos, c.goarch, got, c.want)
		}
	}
}
