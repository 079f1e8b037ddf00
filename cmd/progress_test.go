package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ggmlc/ggmlc/cmd/ggmlc/demo"
	"github.com/ggmlc/ggmlc/tests/pty"
)

// onTerminal runs a command whose standard error is a terminal, and returns what the user sees there. Standard output
// is a pipe.
func onTerminal(t *testing.T, columns int, args ...string) (seen, out string) {
	t.Helper()
	user, program := pty.Open(t, columns)
	read := make(chan string)
	go func() {
		var all bytes.Buffer
		buf := make([]byte, 4096)
		for !strings.HasSuffix(all.String(), "THE END\r\n") {
			n, err := user.Read(buf)
			if err != nil {
				break
			}
			all.Write(buf[:n])
		}
		read <- strings.TrimSuffix(all.String(), "THE END\r\n")
	}()
	var stdout bytes.Buffer
	if status := run(t.Context(), args, strings.NewReader(""), &stdout, program); status != 0 {
		t.Errorf("%v: status %d", args, status)
	}
	program.WriteString("THE END\n")
	return <-read, stdout.String()
}

// demoModel returns the path of the demo model and that of a package to write.
func demoModel(t *testing.T) (model, dir string) {
	model = filepath.Join(t.TempDir(), "m.gguf")
	if err := os.WriteFile(model, demo.Model(), 0o666); err != nil {
		t.Fatal(err)
	}
	return model, filepath.Join(t.TempDir(), "story")
}

// lastLine returns what is left of the last line on a terminal after its carriage returns, and all lines before it.
func lastLine(seen string) (before, line string) {
	seen = strings.TrimSuffix(seen, "\r\n")
	before, line = "", seen
	if i := strings.LastIndex(seen, "\r\n"); i >= 0 {
		before, line = seen[:i], seen[i+2:]
	}
	return before, line[strings.LastIndexByte(line, '\r')+1:]
}

func TestTerminalsShowABarAndTheClosingLine(t *testing.T) {
	model, dir := demoModel(t)
	t.Chdir(filepath.Dir(dir))
	seen, out := onTerminal(t, 80, "gen", model, "-o", "story")
	_, line := lastLine(seen)
	if !strings.HasPrefix(line, "story: ") || !strings.Contains(line, "; needs ") || utf8.RuneCountInString(line) > 80 {
		t.Errorf("the last line is %q (%d columns)", line, utf8.RuneCountInString(line))
	}
	if !strings.Contains(seen, "weights") || strings.Contains(seen, " nodes") || strings.Contains(seen, "packing") || out != "" {
		t.Errorf("%q, output %q", seen, out)
	}
}

func TestProgressFlagsOnATerminal(t *testing.T) {
	model, dir := demoModel(t)
	for _, c := range []struct {
		flags             string
		closing, bar      bool
		passes, plainText bool
	}{
		{"--quiet", false, false, false, false},
		{"--json", false, false, false, false},
		{"--progress=none", true, false, false, false},
		{"--progress=plain", true, false, false, true},
		{"-v", true, true, true, false},
		{"-v --progress=none", true, false, true, false},
	} {
		seen, out := onTerminal(t, 80, append([]string{"gen", model, "-o", dir}, strings.Fields(c.flags)...)...)
		_, line := lastLine(seen)
		for what, found := range map[string][2]bool{
			"closing line": {strings.HasPrefix(line, dir+": "), c.closing},
			"bar":          {strings.Contains(seen, "weights "+" "), c.bar},
			"passes":       {strings.Contains(seen, " nodes"), c.passes},
			"plain text":   {strings.Contains(seen, "packing 1.58 MiB of weights\r\n"), c.plainText},
			"object":       {strings.HasPrefix(out, `{"result":`), c.flags == "--json"},
		} {
			if found[0] != found[1] {
				t.Errorf("%s: %s is %v, want %v: %q", c.flags, what, found[0], found[1], seen)
			}
		}
		if (c.flags == "--quiet" || c.flags == "--json") && seen != "" {
			t.Errorf("%s: %q", c.flags, seen)
		}
	}
}
