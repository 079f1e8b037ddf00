package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// dataFile returns the path of a file of shared/data, or skips.
func dataFile(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "..", "shared", "data", filepath.FromSlash(name))
	if _, err := os.Stat(path); err != nil {
		if strings.Contains(os.Getenv("GGMLC_REQUIRE"), "data") {
			t.Fatal(err)
		}
		t.Skipf("skip: no %s", path)
	}
	return path
}

// realTable reads the vocabulary of a file in shared/data and encodes it.
func realTable(t testing.TB, name string, rows int) string {
	t.Helper()
	f, err := gguf.Open(dataFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := Read(f, rows)
	if err != nil {
		t.Fatal(err)
	}
	b, err := table.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// realVocab loads the table of realTable.
func realVocab(t testing.TB, name string, rows int) *token.Vocab {
	t.Helper()
	v, err := token.Load(realTable(t, name, rows))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// texts returns the test texts for a vocabulary and their expected ids.
func texts(t testing.TB, name string) (inputs []string, ids [][]int32) {
	t.Helper()
	in, err := os.ReadFile(dataFile(t, name+".inp"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(dataFile(t, name+".out"))
	if err != nil {
		t.Fatal(err)
	}
	inputs = strings.Split(string(in), "\n__ggml_vocab_test__\n")
	inputs = inputs[:len(inputs)-1]
	for line := range strings.Lines(string(out)) {
		var list []int32
		for _, field := range strings.Fields(line) {
			id, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, int32(id))
		}
		ids = append(ids, list)
	}
	if len(inputs) != 46 || len(ids) != 46 {
		t.Fatalf("%d texts and %d lists of ids, not 46", len(inputs), len(ids))
	}
	return inputs, ids
}

// TestRealVocabulariesGiveTheIDsOfLlamaCpp also decodes the ids back to the texts.
func TestRealVocabulariesGiveTheIDsOfLlamaCpp(t *testing.T) {
	for _, name := range []string{"vocab/ggml-vocab-llama-spm.gguf", "vocab/ggml-vocab-phi-3.gguf", "vocab/ggml-vocab-gpt-2.gguf", "vocab/ggml-vocab-bert-bge.gguf"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			v := realVocab(t, name, 0)
			inputs, want := texts(t, name)
			for i, text := range inputs {
				got := v.Encode(nil, text, token.Options{})
				if !slices.Equal(got, want[i]) {
					t.Errorf("%q:\n got %v\nwant %v", text, got, want[i])
				}
				if back := v.Decode(got); back != text && !strings.Contains(name, "bert") { // which ignores case
					t.Errorf("%q came back as %q", text, back)
				}
			}
		})
	}
}

// TestGreedyGenerationIsThatOfLlamaCpp encodes prompts and decodes generated tokens.
func TestGreedyGenerationIsThatOfLlamaCpp(t *testing.T) {
	v := realVocab(t, "aidreams260K.gguf", 512)
	b, err := os.ReadFile(dataFile(t, "aidreams260K.greedy.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Prompt         string
		Tokens, Greedy []int32
		Text           string
	}
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) != 6 {
		t.Fatalf("%d prompts, %v", len(cases), err)
	}
	for _, c := range cases {
		if got := v.Encode(nil, c.Prompt, token.Options{Specials: true}); !slices.Equal(got, c.Tokens) {
			t.Errorf("%q:\n got %v\nwant %v", c.Prompt, got, c.Tokens)
		}
		d := token.NewDecoder(v)
		var text []byte
		for _, id := range c.Greedy {
			text = d.Append(text, id)
		}
		if text = d.Flush(text); string(text) != c.Text {
			t.Errorf("%q:\n got %q\nwant %q", c.Prompt, text, c.Text)
		}
	}
	if v.BOS() != 1 || v.EOS() != 2 || !v.IsEOG(2) || v.IsEOG(1) || v.Size() != 512 {
		t.Errorf("BOS %d, EOS %d, size %d", v.BOS(), v.EOS(), v.Size())
	}
}

// TestTextDoesNotBecomeControlTokens: text of users does not become a control token.
func TestTextDoesNotBecomeControlTokens(t *testing.T) {
	for _, name := range []string{"vocab/ggml-vocab-llama-spm.gguf", "vocab/ggml-vocab-phi-3.gguf"} {
		v := realVocab(t, name, 0)
		for id := range int32(v.Size()) {
			if typ := v.TypeOf(id); typ != token.Control && typ != token.Unknown && typ != token.Byte {
				continue
			}
			text := v.Text(id)
			for _, o := range []token.Options{{}, {Specials: true}} {
				if got := v.Encode(nil, text, o); slices.Contains(got, id) && !(o.Specials && id == v.BOS()) {
					t.Errorf("%s: %q became %v", name, text, got)
				}
			}
			parsed := v.Encode(nil, "a"+text+"b", token.Options{ParseSpecials: true})
			if v.TypeOf(id) != token.Byte && !slices.Contains(parsed, id) {
				t.Errorf("%s: %q parsed became %v", name, text, parsed)
			}
		}
	}
}

func TestEndTokensEndGeneration(t *testing.T) {
	v := realVocab(t, "vocab/ggml-vocab-phi-3.gguf", 0)
	for _, text := range []string{"<|endoftext|>", "<|end|>"} {
		if id := v.Lookup(text); !v.IsEOG(id) {
			t.Errorf("%q does not end a generation", text)
		}
	}
	if v.IsEOG(v.Lookup("<|user|>")) || v.IsEOG(-1) || v.IsEOG(1<<30) {
		t.Error("too much ends a generation")
	}
}

// TestLongTextsAreEncodedQuickly has a megabyte of one letter, and of other texts, on which a merge that examines
// every pair again would not finish.
func TestLongTextsAreEncodedQuickly(t *testing.T) {
	for _, name := range []string{"llama-spm", "gpt-2", "bert-bge"} {
		v := realVocab(t, "vocab/ggml-vocab-"+name+".gguf", 0)
		for unit, n := range map[string]int{"a": 1 << 20, " ": 1 << 20, "\u0301": 1 << 20, "<s>": 1 << 17, "\xff": 1 << 17, "the ": 1 << 17} {
			if testing.Short() {
				n /= 8
			}
			text := strings.Repeat(unit, n/len(unit))
			ids := v.Encode(nil, text, token.Options{ParseSpecials: true})
			if name == "gpt-2" { // it reads bytes that are no UTF-8 as U+FFFD
				text = strings.ReplaceAll(text, "\xff", "\ufffd")
			}
			if unit != "<s>" && name != "bert-bge" && v.Decode(ids) != text {
				t.Errorf("%s: %d bytes of %q came back differently", name, n, unit)
			}
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	table := realTable(b, "vocab/ggml-vocab-llama-spm.gguf", 0)
	b.SetBytes(int64(len(table)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := token.Load(table); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode512(b *testing.B) {
	v := realVocab(b, "vocab/ggml-vocab-llama-spm.gguf", 0)
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, and nobody minds. ", 30)
	ids := v.Encode(nil, text, token.Options{})
	b.ReportMetric(float64(len(ids)), "tokens")
	b.ReportAllocs()
	for b.Loop() {
		ids = v.Encode(ids[:0], text, token.Options{})
	}
}

func BenchmarkMegabyte(b *testing.B) {
	v := realVocab(b, "vocab/ggml-vocab-llama-spm.gguf", 0)
	text := strings.Repeat("a", 1<<20)
	for b.Loop() {
		v.Encode(nil, text, token.Options{})
	}
}

func BenchmarkDecode(b *testing.B) {
	v := realVocab(b, "vocab/ggml-vocab-llama-spm.gguf", 0)
	d := token.NewDecoder(v)
	buf := make([]byte, 0, 64)
	b.ReportAllocs()
	for i := range b.N {
		buf = d.Append(buf[:0], int32(i%v.Size()))
	}
}

// BenchmarkKinds encodes 64 KiB of English with each kind of vocabulary.
func BenchmarkKinds(b *testing.B) {
	text := strings.Repeat("The quick brown fox, aged 12, jumps over the lazy dog; it's not hard. ", 1<<16/70)
	for _, name := range []string{"llama-spm", "gpt-2", "bert-bge"} {
		b.Run(name, func(b *testing.B) {
			v := realVocab(b, "vocab/ggml-vocab-"+name+".gguf", 0)
			var ids []int32
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				ids = v.Encode(ids[:0], text, token.Options{})
			}
		})
	}
}
