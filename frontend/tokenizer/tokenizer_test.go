package tokenizer

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/runtime/printable"
	"github.com/ggmlc/ggmlc/runtime/token"
	"github.com/ggmlc/ggmlc/tests/heaptest"
)

// keys is the metadata of a file. nil removes a key.
type keys map[string]any

// valid returns a small vocabulary: unknown, BOS, EOS, all bytes, three pieces.
func valid() keys {
	tokens, types := []string{"<unk>", "<s>", "</s>"}, []int32{2, 3, 3}
	for b := range 256 {
		tokens, types = append(tokens, fmt.Sprintf("<0x%02X>", b)), append(types, 6)
	}
	tokens, types = append(tokens, "\u2581", "a", "\u2581a"), append(types, 1, 1, 1)
	scores := make([]float32, len(tokens))
	return keys{
		keyModel: "llama", keyTokens: tokens, keyScores: scores, keyTypes: types,
		keyBOS: uint32(1), keyEOS: uint32(2), keyUNK: uint32(0),
	}
}

const validTokens = 3 + 256 + 3

// open makes a file of the keys and opens it.
func open(t testing.TB, k keys) *gguf.File {
	t.Helper()
	b := encodeKeys(t, k)
	f, err := gguf.Read(bytes.NewReader(b), int64(len(b)), "m.gguf")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// encodeKeys makes a file of the keys.
func encodeKeys(t testing.TB, k keys) []byte {
	t.Helper()
	w := gguf.NewWriter()
	for _, name := range slices.Sorted(maps.Keys(k)) {
		if k[name] != nil {
			w.Set(name, k[name])
		}
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// change returns the valid vocabulary with some keys replaced.
func change(with keys) keys {
	k := valid()
	for name, v := range with {
		k[name] = v
	}
	return k
}

// bpeKeys returns a small byte-level vocabulary.
func bpeKeys() keys {
	return keys{keyModel: "gpt2", keyPre: "gpt-2", keyTokens: []string{"a", "b", "ab", "<|endoftext|>"}, keyTypes: []int32{1, 1, 1, 3}, keyMerges: []string{"a b", "  c"},
		keyBOS: uint32(3), keyEOS: uint32(3)}
}

// pieceKeys returns a small vocabulary of words.
func pieceKeys(model string) keys {
	return keys{keyModel: model, keyTokens: []string{"[UNK]", "[CLS]", "[SEP]", "\u2581a", "b", "</s>"}, keyTypes: []int32{2, 3, 3, 1, 1, 3},
		keyScores: []float32{0, 0, 0, -1, -2, 0}, keyUNK: uint32(0), keyBOS: uint32(1), keySEP: uint32(2), keyEOS: uint32(5)}
}

// with returns keys with some replaced.
func (k keys) with(other keys) keys {
	for name, v := range other {
		k[name] = v
	}
	return k
}

// set returns the valid list under a key with one element replaced.
func set[T any](key string, i int, v T) []T {
	list := valid()[key].([]T)
	list[i] = v
	return list
}

// TestHostileVocabulariesAreRefused has the vocabularies of hostile.md, as far as they concern SPM.
func TestHostileVocabulariesAreRefused(t *testing.T) {
	scores, types := valid()[keyScores].([]float32), valid()[keyTypes].([]int32)
	small := make([]uint8, validTokens)
	noBytes := keys{keyTokens: []string{"<unk>", "a"}, keyScores: []float32{0, 0}, keyTypes: []int32{1, 1}, keyBOS: nil, keyEOS: nil, keyUNK: uint32(noID)}
	tests := []struct {
		name string
		keys keys
		want string
	}{
		{"no model", keys{keyModel: nil}, `key "tokenizer.ggml.model": is missing`},
		{"model a number", keys{keyModel: uint32(1)}, "is a u32, where a string is needed"},
		{"unknown model", keys{keyModel: "lama"}, `tokenizer "lama" is not supported: did you mean llama? use a model with one of llama, gpt2, bert, t5, gemma4, whitespace`},
		{"tokens absent", keys{keyTokens: nil}, `key "tokenizer.ggml.tokens": is missing`},
		{"no tokens", keys{keyTokens: []string{}, keyScores: []float32{}, keyTypes: []int32{}, keyBOS: nil, keyEOS: nil, keyUNK: nil}, "is empty"},
		{"tokens numbers", keys{keyTokens: []int32{1}}, "is an array of 1 x i32, where an array of strings is needed"},
		{"scores absent", keys{keyScores: nil}, `key "tokenizer.ggml.scores": is missing`},
		{"scores shorter", keys{keyScores: scores[1:]}, "has 261 scores for 262 tokens"},
		{"scores longer", keys{keyScores: append(scores, 0)}, "has 263 scores for 262 tokens"},
		{"scores of bytes", keys{keyScores: small}, "is an array of 262 x u8, where an array of f32 is needed"},
		{"score NaN", keys{keyScores: set(keyScores, 5, float32(math.NaN()))}, "the score of token 5 is NaN"},
		{"types shorter", keys{keyTypes: types[1:]}, "has 261 types for 262 tokens"},
		{"types longer", keys{keyTypes: append(types, 0)}, "has 263 types for 262 tokens"},
		{"types of bytes", keys{keyTypes: small}, "is an array of 262 x u8, where an array of i32 is needed"},
		{"type 7", keys{keyTypes: set(keyTypes, 9, int32(7))}, "token 9 has type 7, where 0 to 6 are known"},
		{"type -1", keys{keyTypes: set(keyTypes, 9, int32(-1))}, "token 9 has type -1"},
		{"duplicate", keys{keyTokens: set(keyTokens, 260, "\u2581")}, `tokens 259 and 260 have the same text "▁"`},
		{"not UTF-8", keys{keyTokens: set(keyTokens, 260, "\xff")}, `token 260, "\xff", is not UTF-8`},
		{"huge token", keys{keyTokens: set(keyTokens, 260, strings.Repeat("a", 1<<20))}, "token 260 is 1048576 bytes long, more than the 65536"},
		{"byte token without its form", keys{keyTokens: set(keyTokens, 5, "two")}, `token 5 is a byte token, but its text "two"`},
		{"no bytes, no unknown", noBytes, "neither a token for the byte 0x00 nor an unknown token"},
		{"BOS at the size", keys{keyBOS: uint32(validTokens)}, `key "tokenizer.ggml.bos_token_id"`},
		{"EOS above the size", keys{keyEOS: uint32(1 << 31)}, "is 2147483648, but there are 262 tokens"},
		{"EOT negative", keys{keyEOT: int32(-2)}, "is -2, but there are 262 tokens"},
		{"EOS a string", keys{keyEOS: "</s>"}, "is a string, where an integer is needed"},
		{"BOS wanted, none there", keys{keyBOS: uint32(noID), keyAddBOS: true}, "is true, but the vocabulary has no beginning-of-text token"},
		{"EOS wanted, none there", keys{keyEOS: uint32(noID), keyAddEOS: true}, "is true, but the vocabulary has no end-of-text token"},
		{"add BOS a number", keys{keyAddBOS: uint32(1)}, "is a u32, where a bool is needed"},
	}
	for _, tt := range tests {
		_, err := Read(open(t, change(tt.keys)), 0)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "m.gguf: ") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestRowsMustBeTheNumberOfTokens(t *testing.T) {
	f := open(t, valid())
	if _, err := Read(f, validTokens); err != nil {
		t.Error(err)
	}
	_, err := Read(f, validTokens+1)
	if err == nil || !strings.Contains(err.Error(), "has 262 tokens, but the embedding has 263 rows") {
		t.Error(err)
	}
}

// TestFaultsAreReportedTogether: faults of several keys are reported together, up to a limit.
func TestFaultsAreReportedTogether(t *testing.T) {
	types := valid()[keyTypes].([]int32)
	for i := range 50 {
		types[i] = 9
	}
	_, err := Read(open(t, change(keys{keyTypes: types, keyScores: nil, keyBOS: "x"})), 0)
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 11 || !strings.Contains(lines[10], ": and 4") || !strings.Contains(err.Error(), keyScores) {
		t.Errorf("%d lines:\n%v", len(lines), err)
	}
}

// TestOddVocabulariesAreAccepted has valid but unusual ones.
func TestOddVocabulariesAreAccepted(t *testing.T) {
	tests := []struct {
		name  string
		keys  keys
		check func(*token.Table) bool
	}{
		{"as it is", nil, func(k *token.Table) bool { return k.AddBOS && !k.AddEOS && k.AddSpace && k.BOS == 1 && k.EOS == 2 }},
		{"special tokens by default", keys{keyBOS: nil, keyEOS: nil, keyUNK: nil}, func(k *token.Table) bool { return k.BOS == 1 && k.EOS == 2 && k.UNK == 0 }},
		{"no BOS, none wanted", keys{keyBOS: uint32(noID)}, func(k *token.Table) bool { return k.BOS == token.None && !k.AddBOS }},
		{"no BOS as -1", keys{keyBOS: int32(-1)}, func(k *token.Table) bool { return k.BOS == token.None && !k.AddBOS }},
		{"no types", keys{keyTypes: nil}, func(k *token.Table) bool { return k.Types[1] == token.Normal && k.Types[2] == token.Control }},
		{"unsigned types", keys{keyTypes: make([]uint32, validTokens)}, func(k *token.Table) bool { return k.Types[1] == token.Undefined }},
		{"empty tokens", keys{keyTokens: set(keyTokens, 260, "")}, func(k *token.Table) bool { return k.Tokens[260] == "" }},
		{"no space", keys{keyAddSpace: false}, func(k *token.Table) bool { return !k.AddSpace }},
		{"infinite score", keys{keyScores: set(keyScores, 5, float32(math.Inf(-1)))}, func(k *token.Table) bool { return k.Scores[5] < 0 }},
		{"other ends", keys{keyEOT: uint32(260), keyEOM: uint32(261)}, func(k *token.Table) bool { return fmt.Sprint(k.EOG) == "[2 260 261]" }},
		{"bytes missing", keys{keyTokens: []string{"<unk>", "a"}, keyScores: []float32{0, 0}, keyTypes: []int32{2, 1}, keyBOS: nil, keyEOS: nil},
			func(k *token.Table) bool { return k.UNK == 0 && k.BOS == 1 && k.EOS == token.None }},
	}
	for _, tt := range tests {
		table, err := Read(open(t, change(tt.keys)), 0)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if !tt.check(table) {
			t.Errorf("%s: %+v", tt.name, table)
		}
		if b, err := table.Encode(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if _, err := token.Load(string(b)); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestPresentNeedsModelOrTokens(t *testing.T) {
	if Present(open(t, keys{"general.architecture": "mlp"})) || !Present(open(t, valid())) {
		t.Error("a file without vocabulary has one, or a file with one has none")
	}
	if Present(open(t, keys{keyModel: "none"})) || !Present(open(t, keys{keyModel: "nosuch"})) {
		t.Error("a file that names none has a vocabulary, or an unknown one is none")
	}
}

// FuzzRead checks that an accepted vocabulary can be encoded, loaded and used, and that every error names the file.
func FuzzRead(f *testing.F) {
	for _, with := range []keys{nil, {keyTypes: nil}, {keyAddSpace: false, keyEOT: uint32(260)}, {keyModel: "gpt2"}} {
		f.Add(encodeKeys(f, change(with)))
	}
	for _, k := range []keys{bpeKeys(), pieceKeys("bert"), pieceKeys("t5")} {
		f.Add(encodeKeys(f, k))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := gguf.Read(bytes.NewReader(data), int64(len(data)), "m.gguf")
		if err != nil {
			return
		}
		table, err := Read(file, 0)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "m.gguf: ") {
				t.Errorf("the error names no file: %v", err)
			}
			return
		}
		b, err := table.Encode()
		if err != nil {
			t.Fatal(err)
		}
		v, err := token.Load(string(b))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range v.Encode(nil, "a <s> \xff", token.Options{Specials: true, ParseSpecials: true}) {
			if !v.Valid(id) {
				t.Errorf("%d is no token", id)
			}
		}
	})
}

// TestErrorsAreShortAndPrintable: for any vocabulary the error has at most 4 KiB, and a terminal prints it as it is.
func TestErrorsAreShortAndPrintable(t *testing.T) {
	long := strings.Repeat("\x1b\u202e\xff", 20_000)
	tokens, types, scores := make([]string, 20_000), make([]int32, 20_000), make([]float32, 20_000)
	for i := range tokens {
		tokens[i], types[i], scores[i] = "\x1b"+strings.Repeat("\xff", i%300), 1, float32(math.NaN())
	}
	for name, k := range map[string]keys{
		"model":            {keyModel: long},
		"a long token":     {keyTokens: []string{long}, keyTypes: []int32{1}, keyScores: []float32{1}},
		"a long byte":      {keyTokens: []string{long}, keyTypes: []int32{6}, keyScores: []float32{1}},
		"many bad tokens":  {keyTokens: tokens, keyTypes: types, keyScores: scores},
		"many equal ones":  {keyTokens: slices.Repeat([]string{"\x1b"}, 20_000), keyTypes: types, keyScores: make([]float32, 20_000)},
		"many other types": {keyTypes: make([]string, 20_000), keyScores: long},
	} {
		_, err := Read(open(t, change(k)), 0)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if text := err.Error(); len(text) > 4096 || printable.Text(text) != text {
			t.Errorf("%s: %d bytes: %.3000q", name, len(text), text)
		}
	}
}

// TestReadingTakesAtMostThreeTimesTheFile measures the memory for reading a vocabulary.
func TestReadingTakesAtMostThreeTimesTheFile(t *testing.T) {
	const n = 200_000
	tokens, types := make([]string, n), make([]int32, n)
	for i := range tokens {
		tokens[i], types[i] = string([]byte{byte(34 + i%90), byte(34 + i/90%90), byte(34 + i/8100)}), 1
	}
	var merges []string
	for i := range 8100 { // the beginnings of the others, and what they are made of
		tokens[i] = tokens[i][:2]
	}
	for i := range 90 {
		tokens[i] = tokens[i][:1]
	}
	for _, s := range tokens[90:] {
		merges = append(merges, s[:len(s)-1]+" "+s[len(s)-1:])
	}
	for name, k := range map[string]keys{
		"scores": change(keys{keyTokens: tokens, keyTypes: types, keyScores: make([]float32, n)}),
		"merges": bpeKeys().with(keys{keyTokens: tokens, keyTypes: types, keyMerges: merges}),
	} {
		checkMemory(t, name, encodeKeys(t, k))
	}
}

// checkMemory reads a vocabulary and measures the memory.
func checkMemory(t *testing.T, name string, b []byte) {
	t.Helper()
	var table *token.Table
	peak := heaptest.PeakLive(func() {
		f, err := gguf.Read(bytes.NewReader(b), int64(len(b)), "m.gguf")
		if err != nil {
			t.Fatal(err)
		}
		if table, err = Read(f, 0); err != nil {
			t.Fatal(err)
		}
	})
	runtime.KeepAlive(table)
	if times := float64(peak) / float64(len(b)); times > 3 {
		t.Errorf("%s: %d bytes of memory for a file of %d: %.1f times", name, peak, len(b), times)
	} else {
		t.Logf("%s: %.2f times the file's %d bytes", name, times, len(b))
	}
}
