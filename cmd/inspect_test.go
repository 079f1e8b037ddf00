package cmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// hostileNames are names and texts that would control a terminal or mislead its reader.
var hostileNames = []string{
	"\x1b[2J\x1b[31mred", "\x1b]0;title\a", "\u009b31m", "line\nline", "\r\rover", "\u202egnp.exe", "\u2066a\u2069", "\x7f\b\b",
	`"quoted"`, `back\slash`, "\u2028", "\U000e0041", "naïve", "<&>", "\xff\xfe", "\xed\xa0\x80",
}

// hostileFile writes a file with the given names for a key, its value and a tensor. ok is false if the format does
// not allow them.
func hostileFile(path, key, value, tensor string) (f *gguf.File, ok bool) {
	w := gguf.NewWriter()
	w.Set(key, value)
	w.Set(key+"s", []string{value, "", value})
	w.Tensor(tensor, gguf.TensorF32, []int{1}, func(out io.Writer) error { _, err := out.Write(make([]byte, 4)); return err })
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		return nil, false
	}
	f, err := gguf.Read(bytes.NewReader(b.Bytes()), int64(b.Len()), path)
	return f, err == nil
}

func TestInspectHostileNames(t *testing.T) {
	made := 0
	for _, name := range hostileNames {
		if checkInspect(t, name, name, name, name, 100) {
			made++
		}
		checkInspect(t, name, "key", name, "tensor", 3)
		checkInspectText(t, name)
	}
	if made < len(hostileNames)-2 { // all but the two that are not UTF-8
		t.Errorf("only %d of the names could be written", made)
	}
}

// FuzzInspect checks that for any file inspect prints a line for each key and tensor, which a terminal prints as it
// is, and valid JSON with the same names.
func FuzzInspect(f *testing.F) {
	for _, name := range hostileNames {
		f.Add("m.gguf", name, name, name, 6)
		f.Add(name, "key", name, "tensor", 1)
	}
	f.Fuzz(func(t *testing.T, path, key, value, tensor string, limit int) {
		checkInspect(t, path, key, value, tensor, max(0, limit)%2000)
		checkInspectText(t, value)
	})
}

// checkInspect reports whether the format allows such a file.
func checkInspect(t *testing.T, path, key, value, tensor string, limit int) bool {
	t.Helper()
	f, ok := hostileFile(path, key, value, tensor)
	if !ok {
		return false
	}
	var text, doc bytes.Buffer
	if err := inspectLines(&text, f, limit); err != nil {
		t.Fatal(err)
	}
	checkLines(t, text.String(), 1+f.NumKeys()+f.NumTensors())
	if err := inspectJSON(&doc, f, limit); err != nil {
		t.Fatal(err)
	}
	checkLines(t, doc.String(), 0)
	var got struct {
		Keys    []inspectedKey
		Tensors []inspectedTensor
	}
	if err := json.Unmarshal(doc.Bytes(), &got); err != nil {
		t.Fatalf("%v in\n%s", err, &doc)
	}
	if len(got.Keys) != 2 || got.Keys[0].Name != key || len(got.Tensors) != 1 || got.Tensors[0].Name != tensor {
		t.Errorf("%q and %q became\n%s", key, tensor, &doc)
	}
	return true
}

// checkInspectText prints a module in which everything has the same name.
func checkInspectText(t *testing.T, name string) {
	t.Helper()
	doc := inspectedModule{name, name, name, []inspectedFunction{{Name: name}}, []inspectedLeaf{{name, name}}, []inspectedLeaf{{name, name}}}
	var text, asJSON bytes.Buffer
	if err := doc.write(&text); err != nil {
		t.Fatal(err)
	}
	checkLines(t, text.String(), 4)
	if err := writeDocument(&asJSON, doc); err != nil {
		t.Fatal(err)
	}
	checkLines(t, asJSON.String(), 0)
	if !json.Valid(asJSON.Bytes()) {
		t.Errorf("no JSON:\n%s", &asJSON)
	}
}

// checkLines checks that a terminal prints the lines as they are, and how many there are unless lines is 0.
func checkLines(t *testing.T, text string, lines int) {
	t.Helper()
	if printable.Text(text) != text || strings.Contains(text, "\t") || !utf8.ValidString(text) {
		t.Errorf("a terminal would not print this as it is: %q", text)
	}
	if n := strings.Count(text, "\n"); lines > 0 && n != lines {
		t.Errorf("%d lines, want %d:\n%s", n, lines, text)
	}
}

// TestInspectIsLinear checks that the file is read in large pieces, not once for each key.
func TestInspectIsLinear(t *testing.T) {
	w := gguf.NewWriter()
	for i := range 200_000 {
		w.Set(fmt.Sprintf("k%06d", i), uint8(i))
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	reads := &countingReader{r: bytes.NewReader(b.Bytes())}
	f, err := gguf.Read(reads, int64(b.Len()), "m.gguf")
	if err != nil {
		t.Fatal(err)
	}
	for _, print := range []func(io.Writer, *gguf.File, int) error{inspectLines, inspectJSON} {
		if err := print(io.Discard, f, 6); err != nil {
			t.Fatal(err)
		}
	}
	if most := 6*b.Len()/(64<<10) + 100; reads.n > most {
		t.Errorf("%d reads of a file of %d bytes, want at most %d", reads.n, b.Len(), most)
	}
}

// countingReader counts the reads of a file.
type countingReader struct {
	r io.ReaderAt
	n int
}

func (c *countingReader) ReadAt(p []byte, off int64) (int, error) {
	c.n++
	return c.r.ReadAt(p, off)
}
