package readback

import (
	"strings"
	"testing"
)

func TestThreadsOfPTX(t *testing.T) {
	const head, entry = ".version 6.0\n.target sm_70\n.address_size 64\n", "\n.visible .entry add_kernel(\n\t.param .u64 add$args\n)\n.reqntid 64, 1, 1\n{\n"
	const body = "\tmov.b64 {%u0, %u1}, %d0;\n\tret;\n}\n"
	for _, c := range []struct {
		name, text string
		want       bool
	}{
		{"a module", head + entry + body, true},
		{"another target", ".version 8.0\n.target sm_90a\n.address_size 64\n" + entry + body, true},
		{"too many threads", head + "\n.visible .entry k(.param .u64 a)\n.reqntid 99999999999, 1, 1\n{\n" + body, false},
		{"nothing", "", false},
		{"no directives", entry + body, false},
		{"no target", ".version 6.0\n.address_size 64\n" + entry + body, false},
		{"addresses of 32 bits", ".version 6.0\n.target sm_70\n.address_size 32\n" + entry + body, false},
		{"no kernel", head, false},
		{"two kernels", head + entry + body + entry + body, false},
		{"two modules", head + entry + body + ".version 7.0\n.target sm_80\n.address_size 64\n" + strings.Replace(entry, "64, 1", "256, 1", 1) + body, true},
		{"an older module after a later one", ".version 7.0\n.target sm_80\n.address_size 64\n" + entry + body + head + entry + body, false},
		{"two modules for the same", head + entry + body + head + entry + body, false},
		{"a broken second module", head + entry + body + ".version 7.0\n.target sm_80\n", false},
		{"two parameters", head + "\n.visible .entry k(.param .u64 a, .param .u64 b)\n.reqntid 64, 1, 1\n{\n" + body, false},
		{"no threads", head + "\n.visible .entry k(.param .u64 a)\n{\n" + body, false},
		{"an open brace", head + entry + "{" + body, false},
		{"a closed brace", head + entry + "}" + body, false},
		{"cut off", head + entry + body[:len(body)-3], false},
		{"something after it", head + entry + body + "\n", false},
		{"a comment", head + entry + "// }\n" + body, false},
		{"a string", head + entry + "\"}\"" + body, false},
	} {
		want := int64(0)
		if c.want {
			want = 64
		}
		if got := threadsOfPTX([]byte(c.text)); got != want {
			t.Errorf("%s: %d threads, want %d", c.name, got, want)
		}
	}
}
