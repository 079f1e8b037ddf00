package runtime

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// spoken is the toy with a vocabulary of letters.
func spoken(t testing.TB, p *Program) *Program {
	p.Tokenizer = toyTokenizer(t)
	return p
}

func writeText(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTokenizeAndDetokenize(t *testing.T) {
	p := spoken(t, toyProgram())
	p.Weights = WeightsInfo{Size: 99, External: "missing"} // tokens need no weights
	file := writeText(t, "hé </s>")
	for _, c := range []struct{ args, want string }{
		{"tokenize ab", "     1  \"<s>\"\n     6  \"a\"\n     7  \"b\"\n"},
		{"tokenize --no-bos é", "     3  \"\\xc3\"\n     4  \"\\xa9\"\n"},
		{"tokenize --ids --file " + file, "1 13 3 4 5 0 0 24 0\n"},
		{"tokenize --ids --special --file " + file, "1 13 3 4 5 2\n"},
		{"tokenize --count --no-bos abc", "3\n"},
		{"tokenize --json é", `{"id":1,"text":"<s>"}` + "\n" + `{"id":3,"text":"` + "\ufffd" + `","bytes":[195]}` + "\n" + `{"id":4,"text":"` + "\ufffd" + `","bytes":[169]}` + "\n"},
		{"detokenize 1,13,3,4 8", "héc"},
		{"detokenize --special 1,13,2,6", "<s>h</s>a"},
		{"detokenize --file " + writeText(t, "1 13\n3, 4\n"), "hé"},
	} {
		if status, out, errs := invoke(p, strings.Fields(c.args)...); status != 0 || out != c.want || errs != "" {
			t.Errorf("%s: status %d, %q, want %q; errors %q", c.args, status, out, c.want, errs)
		}
	}
}

// TestMissingFilesAreNamedOnce is about the flags that read a file when the command runs, and those that read it at once.
func TestMissingFilesAreNamedOnce(t *testing.T) {
	p := talker(t)
	file := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"--file", exitFailed, "toy: "},
		{"--prompts", exitFailed, "toy: "},
		{"--load", exitFailed, "toy: "},
		{"--prompt a --grammar", exitUsage, "toy: --grammar "},
		{"--prompt a --json-schema", exitUsage, "toy: --json-schema "},
		{"--chat --chat-template", exitUsage, "toy: --chat-template "},
	} {
		status, _, errs := invoke(p, append(strings.Fields(c.args), file)...)
		if want := c.want + file + ": " + syscall.ENOENT.Error() + "\n"; status != c.status || errs != want {
			t.Errorf("%s: status %d, %q, want %d, %q", c.args, status, errs, c.status, want)
		}
	}
}

func TestTextErrors(t *testing.T) {
	p, silent, graph := spoken(t, toyProgram()), toyProgram(), toyProgram()
	graph.LM = nil
	for _, c := range []struct {
		p      *Program
		args   string
		status int
		want   string
	}{
		{p, "tokenize", 2, "no text: give TEXT or --file FILE"},
		{p, "tokenize a b", 2, "2 texts: give one, in quotes"},
		{p, "tokenize a --file b", 2, "several texts"},
		{p, "tokenize --ids --json a", 2, "give one of them"},
		{p, "tokenize --file none", 1, "none: no such file"},
		{silent, "tokenize a", 2, "toy has no tokenizer"},
		{silent, "detokenize 1", 2, "toy has no tokenizer"},
		{p, "detokenize", 2, "no ids: give them as 1,2,3"},
		{p, "detokenize 1 --file f", 2, "give one of them"},
		{p, "detokenize 32", 2, `"32" is no token id: give numbers from 0 to 31`},
		{p, "detokenize x", 2, `"x" is no token id`},
		{graph, "logits --tokens 1", 2, "toy is no language model"},
		{p, "logits --tokens 1,99", 2, "token 1 is 99: ids are 0 to 31"},
		{p, "logits --tokens 1 a", 2, "several texts"},
		{p, "logits --no-bos --file " + writeText(t, ""), 2, "no tokens: at least one"},
		{p, "logits -o - a", 2, "name it, or write ./- "},
		{p, "logits -o none/x.npy a", 1, "none/x.npy: cannot be written"},
		{p, "logits --file " + writeText(t, strings.Repeat("a", 64)), 1, "the context is full: 0 positions are taken and 65 more wanted"},
		{graph, "perplexity a", 2, "toy is no language model"},
		{p, "perplexity abc", 1, "the text has 4 tokens, and two chunks of 64 need 128"},
		{p, "perplexity --chunk 65 abc", 2, "chunks of 65 tokens: the program was compiled for 64 positions"},
		{p, "perplexity --chunk 2 abc", 2, "--chunk 2: it must be a whole number, at least 3"},
		{p, "perplexity --chunk 8 --stride 20 abc", 2, "a stride of 20 in chunks of 18"},
	} {
		if status, out, errs := invoke(c.p, strings.Fields(c.args)...); status != c.status || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%s: status %d, %q, errors %q; want status %d, %q", c.args, status, out, errs, c.status, c.want)
		}
	}
}

func TestLogitsCommand(t *testing.T) {
	p := spoken(t, toyProgram())
	file := filepath.Join(t.TempDir(), "x.npy")
	status, out, errs := invoke(p, "logits", "--all", "--json", "--top", "3", "-o", file, "ba")
	if status != 0 || errs != "" {
		t.Fatalf("status %d: %s", status, errs)
	}
	text, all := []int32{1, 7, 6}, []float32{}
	for i, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		want := toyWant(text[:i+1])
		all = append(all, want...)
		var got struct {
			Position int
			Token    struct{ ID int32 }
			Top      []struct {
				ID                 int32
				Logit, Probability float64
			}
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if got.Position != i || got.Token.ID != text[i] || len(got.Top) != 3 {
			t.Errorf("line %d: %s", i, line)
		}
		for j, next := range got.Top {
			sum := 0.0
			for _, x := range want {
				sum += math.Exp(float64(x) - next.Logit)
			}
			above := 0
			for id, x := range want {
				if x > want[next.ID] || x == want[next.ID] && int32(id) < next.ID {
					above++
				}
			}
			if above != j || next.Logit != float64(want[next.ID]) || math.Abs(next.Probability*sum-1) > 1e-12 {
				t.Errorf("position %d, choice %d is %+v: there are %d better ones, its logit is %v", i, j, next, above, want[next.ID])
			}
		}
	}
	if matrix := readRows(t, file); !slices.Equal(matrix, all) || len(all) != 3*toyVocab {
		t.Errorf("the matrix is %v, want %v", matrix, all)
	}
}

// readRows returns the elements of a matrix of logits.
func readRows(t *testing.T, file string) []float32 {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := ReadNPY(f, 1<<20)
	if err != nil || len(a.Shape) != 2 || a.Shape[1] != toyVocab {
		t.Fatalf("%v, shape %v", err, a.Shape)
	}
	var rows []float32
	for data := range slices.Chunk(a.Data, 4) {
		rows = append(rows, math.Float32frombits(binary.LittleEndian.Uint32(data)))
	}
	return rows
}

func TestLogitsAsText(t *testing.T) {
	p := spoken(t, toyProgram())
	_, out, _ := invoke(p, "logits", "--top", "1", "a")
	logits := toyWant([]int32{1, 6})
	best := topIDs(logits, 1)[0]
	if want := fmt.Sprintf("position 1, token 6 \"a\"\n%8d %12.6g  1.000000 %q\n", best, logits[best], string(rune('a'+best-6))); out != want {
		t.Errorf("%q, want %q", out, want)
	}
	p.Tokenizer = ""
	if _, bare, _ := invoke(p, "logits", "--top", "1", "--tokens", "1,6"); bare != fmt.Sprintf("position 1, token 6\n%8d %12.6g  1.000000\n", best, logits[best]) {
		t.Errorf("without tokenizer: %q", bare)
	}
}

func TestPerplexityCommand(t *testing.T) {
	p := soft(spoken(t, toyProgram()))
	text := strings.Repeat("abcdefgh", 8)
	_, s := openProgram(t, p, Options{Threads: 1})
	want, err := s.Perplexity(context.Background(), s.encode(text), PerplexityOptions{Chunk: 16, Chunks: 3}, func(Perplexity) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	status, out, _ := invoke(p, "perplexity", "--chunk", "16", "--chunks", "3", "--json", text)
	lines := strings.Split(out, "\n")
	var last struct {
		Summary struct {
			Perplexity, Standard_error, Mean_nll float64
			Chunks, Chunk, Stride, Predicted     int
		}
	}
	if err := json.Unmarshal([]byte(lines[3]), &last); err != nil || status != 0 || len(lines) != 5 {
		t.Fatalf("status %d, %v:\n%s", status, err, out)
	}
	got := last.Summary
	if got.Perplexity != want.Value() || got.Standard_error != want.StandardError() || got.Chunks != 3 || got.Chunk != 16 || got.Predicted != 21 {
		t.Errorf("%+v, want %v ± %v", got, want.Value(), want.StandardError())
	}
	_, out, errs := invoke(p, "perplexity", "--chunk", "16", "--chunks", "3", text)
	if end := fmt.Sprintf("perplexity %.4f +/- %.5f\n", want.Value(), want.StandardError()); !strings.HasSuffix(out, end) || strings.Count(out, "\n") != 4 {
		t.Errorf("%q does not end with %q", out, end)
	}
	if !strings.Contains(errs, "3 chunks of 16 tokens, 21 tokens predicted") {
		t.Errorf("%q", errs)
	}
}

// TestStridesAreThoseOfLlama: chunks have half the stride more than --chunk says.
func TestStridesAreThoseOfLlama(t *testing.T) {
	p := soft(spoken(t, toyProgram()))
	text := strings.Repeat("abcdefgh", 20)
	_, s := openProgram(t, p, Options{Threads: 1})
	ids := s.encode(text)
	for chunk, flags := range map[int][]string{14: {"--chunk", "12"}, 56: {"--chunk", "54"}, toyContext: nil} {
		want, err := s.Perplexity(context.Background(), ids, PerplexityOptions{Chunk: chunk, Stride: 4}, func(Perplexity) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		_, out, errs := invoke(p, append([]string{"perplexity", "--stride", "4", text}, flags...)...)
		if end := fmt.Sprintf("perplexity %.4f +/- %.5f\n", want.Value(), want.StandardError()); !strings.HasSuffix(out, end) {
			t.Errorf("%v: %q, %q does not end with %q", flags, out, errs, end)
		}
	}
}

func TestInterruptedPerplexityEndsWithAnError(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	var out, errs strings.Builder
	status := run(ctx, spoken(t, toyProgram()), []string{"toy", "perplexity", "--chunk", "8", strings.Repeat("a", 40)}, &out, &errs)
	if status != 1 || out.String() != "" || !strings.Contains(errs.String(), "cancelled") {
		t.Errorf("status %d, %q, %q", status, out.String(), errs.String())
	}
}
