package robust

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
)

// slow is the time that no input of a fuzz target may take.
const slow = 20 * time.Second

// compile runs ggmlc build without the Go command. It may return an error, but an internal one (exit status 4), a
// panic or a hang is a failure.
func compile(t *testing.T, path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), slow)
	defer cancel()
	imported, err := pipeline(ctx, path)
	var internal *pass.InternalError
	switch {
	case errors.As(err, &internal) && !imported && internal.Stack == "":
		// Not everything in a dump can be verified: an edit may break its promises.
	case errors.As(err, &internal):
		t.Fatalf("a bug of ours: %v\n%s", err, internal.Stack)
	case ctx.Err() != nil:
		t.Fatalf("not done after %v", slow)
	case err != nil && strings.Contains(err.Error(), "internal error"):
		t.Fatalf("a bug of ours: %v", err)
	}
}

// pipeline also reports whether the model is as imported, without any pass run on it.
func pipeline(ctx context.Context, path string) (imported bool, err error) {
	md, err := driver.Load(ctx, path, driver.LoadOptions{WithoutWeights: strings.HasSuffix(path, ".ggir")})
	if err != nil {
		return imported, err
	}
	defer md.Close()
	imported = md.Module.Props == ir.PropImported
	targets, err := targetsOf(md.Module)
	if err != nil {
		return imported, err
	}
	o := pass.Options{Pipeline: 1}
	if slices.Contains(md.Module.GetHeaders("option"), "pipeline=2") {
		o.Pipeline = 2
	}
	if _, err := driver.Compile(ctx, md, driver.CompileOptions{Targets: targets, Passes: o}); err != nil {
		return imported, err
	}
	if err := codegen.CheckTargets(md.Module, targets); err != nil {
		return imported, err
	}
	if err := codegen.CheckInputs(md.Module); err != nil {
		return imported, err
	}
	var hash [32]byte
	if !strings.HasSuffix(path, ".ggir") {
		if hash, err = codegen.PackWeights(ctx, md.Module, md, io.Discard, nil); err != nil {
			return imported, err
		}
	}
	_, err = codegen.Emit(md.Module, codegen.Options{Package: "main", Name: md.Module.Name, WeightsHash: hash, Targets: targets})
	return imported, err
}

// targetsOf returns the targets in the head of a dump, or else the CPU, as the command does.
func targetsOf(m *ir.Module) (*target.List, error) {
	var ds []*target.Descriptor
	for _, text := range m.GetHeaders("target") {
		d, err := target.ParseDescriptor(text)
		if err != nil {
			return nil, err
		}
		ds = append(ds, d)
	}
	if len(ds) == 0 {
		return target.Select("cpu")
	}
	return target.NewList(ds...)
}

// least returns a file of a llama so small that fuzzing reaches its header.
func least(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "least.gguf")
	tiny(t, path, shrink)
	return bytesOf(t, path)
}

// shrink sets all sizes of the tiny model to their minimum.
func shrink(c *contents) {
	const n = 4
	for name, v := range map[string]uint32{"embedding_length": n, "feed_forward_length": n, "context_length": 8, "attention.head_count": 1, "attention.head_count_kv": 1} {
		c.set("llama."+name, v)
	}
	for i := range c.tensors {
		for j := range c.tensors[i].shape {
			c.tensors[i].shape[j] = n
		}
	}
}

// FuzzModel compiles changed model files.
func FuzzModel(f *testing.F) {
	f.Add(least(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "m.gguf")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		compile(t, path)
	})
}

// FuzzText compiles changed dumps of every level.
func FuzzText(f *testing.F) {
	for _, text := range dumps(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "m.ggir")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		compile(t, path)
	})
}

// dumps returns the text of the least llama after every pass that changes it, on the CPU and on devices with queues
// and several steps in flight.
func dumps(t testing.TB) []string {
	t.Helper()
	return append(dumpsOn(t, "cpu", pass.Options{}),
		dumpsOn(t, "fake:0,fake:1:queues=2,cpu", pass.Options{Pipeline: 2, Pins: pins(t, "blk=fake:0", "output=fake:1")})...)
}

func pins(t testing.TB, texts ...string) []pass.Pin {
	t.Helper()
	var list []pass.Pin
	for _, text := range texts {
		p, err := pass.ParsePin(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	return list
}

func dumpsOn(t testing.TB, on string, o pass.Options) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "least.gguf")
	tiny(t, path, shrink)
	ctx := context.Background()
	md, err := driver.Load(ctx, path, driver.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer md.Close()
	for _, s := range md.Module.Sources {
		s.Path = "absent.gguf"
	}
	targets, err := target.Select(on)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range targets.All() {
		md.Module.Headers = append(md.Module.Headers, ir.Header{Key: "target", Text: strings.TrimPrefix(d.String(), "target ")})
	}
	if o.Pipeline > 1 {
		md.Module.Headers = append(md.Module.Headers, ir.Header{Key: "option", Text: fmt.Sprintf("pipeline=%d", o.Pipeline)})
	}
	texts := []string{md.Module.String()}
	keep := func(s passes.Step, m *ir.Module) error {
		if s.Changed {
			texts = append(texts, m.String())
		}
		return nil
	}
	if _, err := driver.Compile(ctx, md, driver.CompileOptions{Targets: targets, Passes: o, After: keep}); err != nil {
		t.Fatal(err)
	}
	return texts
}

// TestSeedsCompile checks that the unchanged seeds reach the end of the pipeline.
func TestSeedsCompile(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"m.gguf": string(least(t))}
	for i, text := range dumps(t) {
		files[fmt.Sprintf("%d.ggir", i)] = text
	}
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := pipeline(context.Background(), path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzEdits compiles dumps in which words and lines were exchanged. Unlike dumps with changed bytes, most of them
// parse.
func FuzzEdits(f *testing.F) {
	texts := dumps(f)
	for i := range texts {
		f.Add(uint8(i), uint64(i))
	}
	f.Fuzz(func(t *testing.T, which uint8, seed uint64) {
		text := edited(texts[int(which)%len(texts)], rand.New(rand.NewPCG(seed, 9)))
		path := filepath.Join(t.TempDir(), "m.ggir")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		compile(t, path)
		if t.Failed() {
			t.Log(text)
		}
	})
}

// edited returns text with one or two edits, most of which affect one line.
func edited(text string, rng *rand.Rand) string {
	lines := strings.Split(text, "\n")
	for range 1 + rng.IntN(2) {
		i, j := rng.IntN(len(lines)), rng.IntN(len(lines))
		switch rng.IntN(16) {
		case 0:
			k := min(i+1, len(lines)-1)
			lines[i], lines[k] = lines[k], lines[i]
		case 1:
			lines = slices.Delete(lines, i, i+1)
		default:
			lines[i] = editedLine(lines[i], lines[j], rng)
		}
	}
	return strings.Join(lines, "\n")
}

// editedLine returns line with one word replaced by another of the same kind, which comes from the line other or is a
// likely mistake.
func editedLine(line, other string, rng *rand.Rand) string {
	numbers := []string{"0", "1", "2", "3", "5", "64", "4096", "1000000007", "4611686018427387904", "9223372036854775807"}
	names := []string{"tokens", "f32", "f16", "q8_0", "i32", "mul", "add", "silu", "reshape"}
	words, others := splitWords(line), append(append(splitWords(other), numbers...), names...)
	for range 20 { // the text between words is kept
		i, j := rng.IntN(len(words)), rng.IntN(len(others))
		if k := kind(words[i]); k != 0 && k == kind(others[j]) && words[i] != others[j] {
			words[i] = others[j]
			break
		}
	}
	return strings.Join(words, "")
}

// kind distinguishes numbers and names; 0 is neither.
func kind(word string) int {
	r := []rune(word + " ")[0]
	switch {
	case unicode.IsDigit(r):
		return 1
	case unicode.IsLetter(r):
		return 2
	}
	return 0
}

// splitWords splits a line into words and the text between them. The result is never empty.
func splitWords(line string) []string {
	var words []string
	for word := line; word != ""; {
		n := strings.IndexFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '.' })
		if n < 0 {
			n = len(word)
		}
		n = max(n, 1)
		words, word = append(words, word[:n]), word[n:]
	}
	return append(words, "")
}
