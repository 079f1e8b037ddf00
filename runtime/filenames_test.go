package runtime

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFileNamesAreHarmlessAndUnique(t *testing.T) {
	long := strings.Repeat("é", maxFileName)
	for _, c := range []struct{ names, want []string }{
		{[]string{"y", "attn.out", "größe", "a-b c"}, []string{"y", "attn.out", "größe", "a-b c"}},
		{[]string{"../../x"}, []string{"_.._.._x"}},
		{[]string{"/etc/passwd", `C:\x`, "c:x", "//host/x"}, []string{"_etc_passwd", "C__x", "c_x", "__host_x"}},
		{[]string{"..", ".", "", " ", ".hidden"}, []string{"_..", "_.", "_", "_ ", "_.hidden"}},
		{[]string{"a/b", "a_b", `a\b`, "a:b"}, []string{"a_b_2", "a_b", "a_b_3", "a_b_4"}},
		{[]string{"Y", "y", "Y"}, []string{"Y", "y_2", "Y_3"}},
		{[]string{"NUL", "con.x", "aux .y", "COM1", "lpt9", "COM²", "COM10", "COM", "CONIN$"}, []string{"_NUL", "_con.x", "_aux .y", "_COM1", "_lpt9", "_COM²", "COM10", "COM", "_CONIN$"}},
		{[]string{"a\x00b", "a\x1bb", "a\nb", "a\xffb", "a\u202eb"}, []string{"a_b", "a_b_2", "a_b_3", "a_b_4", "a_b_5"}},
		{[]string{long, long + "x"}, []string{long[:maxFileName], long[:maxFileName] + "_2"}},
	} {
		ts := make([]Tensor, len(c.names))
		for i := range ts {
			ts[i].Name = c.names[i]
		}
		got := fileNames(ts)
		for i, name := range got {
			if !filepath.IsLocal(name) || name != filepath.Base(name) || strings.Contains(name, `\`) || !utf8.ValidString(name) {
				t.Errorf("%q is no name of a file in a folder", name)
			}
			got[i] = strings.TrimSuffix(name, ".npy")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("fileNames(%q) = %q, want %q", c.names, got, c.want)
		}
	}
}
