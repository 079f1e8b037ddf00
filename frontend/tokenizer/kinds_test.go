package tokenizer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/runtime/token"
)

// TestHostileMergesAndPiecesAreRefused has the vocabularies of hostile.md, as far as they concern the others.
func TestHostileMergesAndPiecesAreRefused(t *testing.T) {
	tests := []struct {
		name string
		keys keys
		want string
	}{
		{"unknown pre-tokenizer", bpeKeys().with(keys{keyPre: "qwen"}), `pre-tokenizer "qwen" is not known: did you mean qwen2? known are a.x-4.0, afmoe, bailingmoe`},
		{"nothing like it", bpeKeys().with(keys{keyPre: "zzzzzzzz"}), `pre-tokenizer "zzzzzzzz" is not known: known are a.x-4.0`},
		{"pre a number", bpeKeys().with(keys{keyPre: uint32(1)}), "is a u32, where a string is needed"},
		{"merges absent", bpeKeys().with(keys{keyMerges: nil}), `key "tokenizer.ggml.merges": is missing`},
		{"merges numbers", bpeKeys().with(keys{keyMerges: []int32{1}}), "where an array of strings is needed"},
		{"merge without space", bpeKeys().with(keys{keyMerges: []string{"a b", "ab"}}), `merge 1, "ab", is not two texts with a space between them`},
		{"merge with one text", bpeKeys().with(keys{keyMerges: []string{"a "}}), `merge 0, "a ", is not two texts`},
		{"merge not UTF-8", bpeKeys().with(keys{keyMerges: []string{"\xff b"}}), "merge 0"},
		{"BOS wanted, none there", bpeKeys().with(keys{keyBOS: nil, keyAddBOS: true}), "no beginning-of-text token"},
		{"whitespace with another name", bpeKeys().with(keys{keyModel: "whitespace"}), "only supported with whitespace"},
		{"ranks without a document", pieceKeys("bert").with(keys{keyPair: "{query}"}), "has no {document}: a template of query and document has a place for each"},
		{"ranks not UTF-8", pieceKeys("bert").with(keys{keyPair: "\xff{query}{document}"}), "is no UTF-8 text"},
		{"ranks of a number", pieceKeys("bert").with(keys{keyPair: uint32(1)}), "is a u32, where a string is needed"},
		{"no unknown", pieceKeys("bert").with(keys{keyUNK: uint32(noID)}), "names no token, but this tokenizer needs one"},
		{"no scores", pieceKeys("t5").with(keys{keyScores: nil}), `key "tokenizer.ggml.scores": is missing`},
		{"charsmap of words", pieceKeys("t5").with(keys{keyCharsmap: []int32{1}}), "where an array of u8 is needed"},
		{"charsmap cut", pieceKeys("t5").with(keys{keyCharsmap: []uint8{8, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}}), "has 12 bytes, fewer than its trie declares"},
	}
	for _, tt := range tests {
		_, err := Read(open(t, tt.keys), 0)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "m.gguf: ") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestOtherVocabulariesAreRead has valid vocabularies of each kind, some unusual.
func TestOtherVocabulariesAreRead(t *testing.T) {
	tests := []struct {
		name  string
		keys  keys
		check func(*token.Table) bool
	}{
		{"gpt-2", bpeKeys(), func(k *token.Table) bool {
			return !k.AddBOS && len(k.Merges) == 2 && k.Merges[1] == "  c"
		}},
		{"llama-bpe", bpeKeys().with(keys{keyPre: "llama-bpe"}), func(k *token.Table) bool { return k.AddBOS && k.IgnoreMerges && k.Split == token.SplitLlama3 }},
		{"no BOS", bpeKeys().with(keys{keyPre: "llama-bpe", keyBOS: nil}), func(k *token.Table) bool { return !k.AddBOS }},
		{"no name", bpeKeys().with(keys{keyPre: nil}), func(k *token.Table) bool { return k.Split == token.SplitDefault }},
		{"Kimi K2", bpeKeys().with(keys{keyPre: "kimi-k2", keyMerges: nil}), func(k *token.Table) bool { return len(k.Merges) == 0 }},
		{"Gemma 4", bpeKeys().with(keys{keyModel: "gemma4", keyPre: "x"}), func(k *token.Table) bool { return k.Raw && k.Escape && k.AddBOS }},
		{"whitespace", bpeKeys().with(keys{keyModel: "whitespace", keyPre: "whitespace", keyLower: true}), func(k *token.Table) bool { return k.Raw && k.DropBlanks && k.Lower }},
		{"roberta-bpe", bpeKeys().with(keys{keyPre: "roberta-bpe", keySEP: uint32(2)}), func(k *token.Table) bool { return k.PairSEP && k.SEP == 2 && !k.AddSEP }},
		{"jina-v1-en", bpeKeys().with(keys{keyPre: "jina-v1-en", keySEP: uint32(2), keyAddSEP: false}), func(k *token.Table) bool { return !k.PairSEP }},
		{"jina-v2-code", bpeKeys().with(keys{keyPre: "jina-v2-code"}), func(k *token.Table) bool { return !k.PairSEP && k.SEP == token.None }},
		{"gpt-2", bpeKeys().with(keys{keySEP: uint32(2)}), func(k *token.Table) bool { return !k.PairSEP }},
		{"HybridDNA", bpeKeys().with(keys{keyModel: "hybriddna"}), func(k *token.Table) bool { return k.DNA && len(k.Merges) == 2 }},
		{"ranks", pieceKeys("bert").with(keys{keyPair: "{query}[SEP]{document}"}), func(k *token.Table) bool { return k.Pair == "{query}[SEP]{document}" }},
		{"bert", pieceKeys("bert"), func(k *token.Table) bool {
			return k.AddBOS && k.AddSEP && k.SEP == 2 && k.PairSEP && !k.PairEOS && k.Lower && k.StripAccents
		}},
		{"bert", pieceKeys("bert").with(keys{keyAddSEP: false, keyAddEOS: true}), func(k *token.Table) bool { return k.AddSEP && !k.PairSEP && k.PairEOS && !k.AddEOS }},
		{"t5", pieceKeys("t5").with(keys{keyAddSEP: true}), func(k *token.Table) bool { return k.PairSEP && k.SEP == 2 && !k.AddSEP }},
		{"t5", pieceKeys("t5").with(keys{keyAddSEP: true, keySEP: uint32(noID)}), func(k *token.Table) bool { return !k.PairSEP && k.SEP == token.None }},
		{"bert with case", pieceKeys("bert").with(keys{keyLower: false}), func(k *token.Table) bool { return !k.Lower && !k.StripAccents }},
		{"t5", pieceKeys("t5"), func(k *token.Table) bool { return k.AddEOS && !k.AddBOS && k.EOS == 5 && !k.AddSpace }},
		{"t5 with a map", pieceKeys("t5").with(keys{keyCharsmap: []uint8{4, 0, 0, 0, 1, 2, 3, 255, 0}}), func(k *token.Table) bool { return k.Charsmap == "\x04\x00\x00\x00\x01\x02\x03\xff\x00" }},
		{"t5 with a signed map", pieceKeys("t5").with(keys{keyCharsmap: []int8{4, 0, 0, 0, 1, 2, 3, -1, 0}}), func(k *token.Table) bool { return k.Charsmap == "\x04\x00\x00\x00\x01\x02\x03\xff\x00" }},
	}
	for _, tt := range tests {
		table, err := Read(open(t, tt.keys), 0)
		if err != nil || !tt.check(table) {
			t.Errorf("%s: %v, %+v", tt.name, err, table)
			continue
		}
		if b, err := table.Encode(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if _, err := token.Load(string(b)); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestSpecialTokensAreFoundByText has tokens that no key names.
func TestSpecialTokensAreFoundByText(t *testing.T) {
	read := func(with keys, tokens ...string) *token.Table {
		k := bpeKeys().with(keys{
			keyTokens: append([]string{"a", "b", "ab", "<|endoftext|>"}, tokens...),
			keyTypes:  append([]int32{1, 1, 1, 3}, slices.Repeat([]int32{1}, len(tokens))...),
		})
		table, err := Read(open(t, k.with(with)), 0)
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	if k := read(nil, "<|im_end|>", "<|fim_pad|>", "<|fim_prefix|>", "[PAD]"); fmt.Sprint(k.EOG, k.Types[4:]) != "[3 4 5] [3 3 3 1]" {
		t.Errorf("%v %v", k.EOG, k.Types)
	}
	if k := read(keys{"tokenizer.ggml.prefix_token_id": uint32(0), "tokenizer.ggml.middle_token_id": uint32(1)}, "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"); fmt.Sprint(k.Types[4:]) != "[1 3 1]" {
		t.Errorf("old keys: %v", k.Types)
	}
	if k := read(keys{"tokenizer.ggml.suppress_tokens": []int32{2, -1, 0, 99}}); fmt.Sprint(k.Suppressed) != "[2 0]" {
		t.Errorf("suppressed: %v", k.Suppressed)
	}
	if k := read(nil, "<|end|>", "<|return|>", "<|call|>", "<|channel|>"); fmt.Sprint(k.EOG, k.Types[4:]) != "[3 5 6] [4 3 3 4]" {
		t.Errorf("gpt-oss: %v %v", k.EOG, k.Types)
	}
	if k := read(nil, "</s>", "<|tool_response>"); fmt.Sprint(k.EOG, k.Types[4:]) != "[3 5] [1 3]" {
		t.Errorf("Gemma 4: %v %v", k.EOG, k.Types)
	}
	if k := read(keys{keyName: "Phi-3 mini"}, "<s>", "<|user|>", "</s>"); fmt.Sprint(k.StripRight) != "[6]" {
		t.Errorf("Phi-3: %v", k.StripRight)
	}
	if k := read(keys{keyPre: "jina-v2-code"}, "<mask>"); fmt.Sprint(k.StripLeft) != "[4]" {
		t.Errorf("jina: %v", k.StripLeft)
	}
}

// TestThePageNamesAllTokenizers looks for every name in docs/reference/tokenizers.md.
func TestThePageNamesAllTokenizers(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "tokenizers.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(preNames(), supported()...) {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the page lacks %s", name)
		}
	}
}

// TestPreTokenizerNamesAreDifferent: a name has one meaning.
func TestPreTokenizerNamesAreDifferent(t *testing.T) {
	if names := preNames(); len(slices.Compact(slices.Clone(names))) != len(names) || len(names) < 80 {
		t.Errorf("%d names: %v", len(names), names)
	}
}
