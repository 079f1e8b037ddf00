package readback_test

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/readback"
)

// TestTextsOfKernelsAreOneKernelEach changes the file of the kernels.
func TestTextsOfKernelsAreOneKernelEach(t *testing.T) {
	s := onGPU(t)
	for _, r := range []struct{ name, old, text string }{
		{"a missing brace", "\n}\n", "\n\n\n"},
		{"a brace too many", "= group\n", "= gro {\n"},
		{"no kernel", "kernel scale", "kernex scale"},
		{"two kernels", "}\nkernel ", "\n}kernel "},
		{"an end too early", "= group\n", "= grp\n}\n"},
	} {
		files, changed := append([]readback.File(nil), s.files...), false
		for i, f := range files {
			if f.Name != "kernels.kir" {
				continue
			}
			text := strings.Replace(string(f.Data), r.old, r.text, 1)
			changed = text != string(f.Data)
			files[i].Data = []byte(text)
		}
		if err := s.check(files); !changed || err == nil || !strings.Contains(err.Error(), "not a module of kernels.kir") {
			t.Errorf("%s: changed %t, error %v", r.name, changed, err)
		}
	}
}
