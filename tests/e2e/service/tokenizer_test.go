package service

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/frontend/tokenizer"
	"github.com/ggmlc/ggmlc/runtime/token"
	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// vocabPrompt has contractions, digits, several scripts, an emoji, white space and a token for control.
const vocabPrompt = "Hello, it's 12345 wörds\n\n  中文 👨\u200d👩 <|end|>"

// TestProgramsUseEveryKindOfTokenizer builds a random model with each kind of vocabulary. The program must make of the
// prompt the tokens that the package makes, and print the text of the tokens that it generates.
func TestProgramsUseEveryKindOfTokenizer(t *testing.T) {
	for name, vocab := range map[string]map[string]any{"gpt2": bpeKeys("llama-bpe"), "t5": pieceKeys("t5"), "bert": pieceKeys("bert")} {
		t.Run(name, func(t *testing.T) {
			if name != "gpt2" {
				needtest.Slow(t, "e2e")
			}
			model := filepath.Join(t.TempDir(), "model.gguf")
			writeRandomLlama(t, model, vocab)
			exe, v := e2etest.Build(t, model), vocabOf(t, model)
			ids := v.Encode(nil, vocabPrompt, token.Options{Specials: true})
			flags := []string{exe, "-n", "16", "--json", "--ignore-eos", "--temp", "0"}
			asText := tokenLines(t, append(flags, "--prompt", vocabPrompt))
			asIDs := tokenLines(t, append(flags, "--tokens", strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]")))
			if !slices.Equal(generatedIDs(asText), generatedIDs(asIDs)) || asText[len(asText)-1].Summary.Prompt != len(ids) {
				t.Errorf("the prompt has other tokens than %v", ids)
			}
			if want, got := decoded(v, generatedIDs(asText)), generatedText(asText); got != want {
				t.Errorf("printed %q, want %q", got, want)
			}
		})
	}
}

func tokenLines(t *testing.T, args []string) []e2etest.Generated {
	t.Helper()
	lines, err := e2etest.ParseTokens(e2etest.Command{Args: args}.Run(t))
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func generatedIDs(lines []e2etest.Generated) (ids []int32) {
	for _, l := range lines {
		if l.ID != nil {
			ids = append(ids, *l.ID)
		}
	}
	return ids
}

func generatedText(lines []e2etest.Generated) string {
	text := ""
	for _, l := range lines {
		text += l.Text
	}
	return text
}

// decoded returns the text of tokens, with U+FFFD for bytes that are no text, as in JSON.
func decoded(v *token.Vocab, ids []int32) string {
	d, text := token.NewDecoder(v), ""
	for _, id := range ids {
		text += strings.ToValidUTF8(string(d.Append(nil, id)), "\ufffd")
	}
	return text + strings.ToValidUTF8(string(d.Flush(nil)), "\ufffd")
}

// vocabOf returns the vocabulary of a file.
func vocabOf(t *testing.T, path string) *token.Vocab {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := tokenizer.Read(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := table.Encode()
	if err != nil {
		t.Fatal(err)
	}
	v, err := token.Load(string(b))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// bpeKeys returns a vocabulary of all bytes, as byte-level BPE spells them, some merges and two special tokens.
func bpeKeys(pre string) map[string]any {
	var tokens, merges []string
	other := rune(0x100)
	for b := range rune(256) {
		if b > ' ' && b < 0x7f || b > 0xa0 && b != 0xad {
			tokens = append(tokens, string(b))
			continue
		}
		tokens = append(tokens, string(other))
		other++
	}
	for _, m := range []string{"Ġ w", "l l", "e ll", "H ell", "Hell o", "i t", "1 2", "12 3", "Ċ Ċ", "Ġ Ġ", "ä ¸", "ä¸ Ń"} {
		merges, tokens = append(merges, m), append(tokens, strings.Replace(m, " ", "", 1))
	}
	tokens = append(tokens, "<|begin|>", "<|end|>")
	types := slices.Repeat([]int32{1}, len(tokens))
	types[len(types)-1], types[len(types)-2] = 3, 3
	return map[string]any{
		"model": "gpt2", "pre": pre, "tokens": tokens, "merges": merges, "token_type": types,
		"bos_token_id": uint32(len(tokens) - 2), "eos_token_id": uint32(len(tokens) - 1),
	}
}

// pieceKeys returns a vocabulary of words and letters.
func pieceKeys(model string) map[string]any {
	tokens := []string{"<s>", "</s>", "<unk>", "<sep>"}
	types := []int32{3, 3, 2, 3}
	for _, s := range strings.Fields("▁ ▁hello ▁it ▁' ▁s s ▁12 345 , ▁, w ö o r d ds ▁wor ▁w 中 ▁中 文 < | > ▁< ▁| ▁> e n H l") {
		tokens, types = append(tokens, s), append(types, 1)
	}
	scores := make([]float32, len(tokens))
	for i := range scores {
		scores[i] = -float32(i)
	}
	return map[string]any{
		"model": model, "tokens": tokens, "token_type": types, "scores": scores, "bos_token_id": uint32(0),
		"eos_token_id": uint32(1), "unknown_token_id": uint32(2), "seperator_token_id": uint32(3), "add_space_prefix": true,
	}
}

// writeRandomLlama writes a llama of one layer with a vocabulary.
func writeRandomLlama(t *testing.T, path string, vocab map[string]any) {
	t.Helper()
	const width, inner = 64, 96
	w := gguf.NewWriter()
	for k, v := range map[string]any{
		"general.architecture": "llama", "llama.block_count": uint32(1), "llama.context_length": uint32(256),
		"llama.embedding_length": uint32(width), "llama.feed_forward_length": uint32(inner), "llama.attention.head_count": uint32(4),
		"llama.rope.dimension_count": uint32(16), "llama.attention.layer_norm_rms_epsilon": float32(1e-5),
	} {
		w.Set(k, v)
	}
	for _, k := range slices.Sorted(maps.Keys(vocab)) {
		key := "tokenizer.ggml." + k
		if strings.Contains(k, ".") { // a whole key
			key = k
		}
		w.Set(key, vocab[k])
	}
	rows, random := len(vocab["tokens"].([]string)), rand.New(rand.NewPCG(1, 2))
	for _, x := range []struct {
		name  string
		shape []int
	}{
		{"token_embd", []int{rows, width}}, {"output_norm", []int{width}}, {"output", []int{rows, width}},
		{"blk.0.attn_norm", []int{width}}, {"blk.0.attn_q", []int{width, width}}, {"blk.0.attn_k", []int{width, width}},
		{"blk.0.attn_v", []int{width, width}}, {"blk.0.attn_output", []int{width, width}}, {"blk.0.ffn_norm", []int{width}},
		{"blk.0.ffn_gate", []int{inner, width}}, {"blk.0.ffn_up", []int{inner, width}}, {"blk.0.ffn_down", []int{width, inner}},
	} {
		w.Tensor(x.name+".weight", gguf.TensorF32, x.shape, func(out io.Writer) error {
			var b []byte
			for range x.shape[0] * append(x.shape, 1)[1] {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(random.NormFloat64()/4)))
			}
			_, err := out.Write(b)
			return err
		})
	}
	if err := w.WriteFile(path); err != nil {
		t.Fatal(err)
	}
}
