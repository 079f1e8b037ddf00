package cmd

import (
	"runtime"
	"strings"
	"testing"
)

// TestKernelsThatNoProgramHas: --cpu names kernels of a processor that the program is not for.
func TestKernelsThatNoProgramHas(t *testing.T) {
	for _, c := range []struct {
		arch string
		tags []string
		cpu  []string
		want string // "" if it is allowed
	}{
		{"arm64", nil, nil, ""},
		{"arm64", nil, []string{"amx", "generic"}, ""},
		{"arm64", nil, []string{"amx"}, "--cpu amx: programs for arm64 have only the kernels generic"},
		{"amd64", nil, []string{"amx"}, ""},
		{"amd64", []string{"purego"}, []string{"avx2", "amx"}, "--cpu avx2,amx: programs with the build tag purego have only"},
	} {
		f := buildFlags{goarch: c.arch, tags: c.tags}
		f.cpu = c.cpu
		err := f.checkKernels()
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %v, --cpu %v: %v, want %q", c.arch, c.tags, c.cpu, err, c.want)
		}
	}
	f := buildFlags{}
	f.cpu = []string{"avx2"}
	if err := f.checkKernels(); (err == nil) != (runtime.GOARCH == "amd64") {
		t.Errorf("here: %v", err)
	}
}
