package tokenizer

import (
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/spell"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// pre is what the name of a pre-tokenizer, tokenizer.ggml.pre, determines about a vocabulary.
type pre struct {
	split token.Split
	flags preFlag
	names string // separated by spaces
}

// preFlag is a property of vocabularies beside the split.
type preFlag uint8

const (
	ignoreMerges preFlag = 1 << iota // a word that is a token becomes it, whatever the merges
	addBOS                           // unless the file says otherwise
	mustAddBOS                       // whatever the file says
	addSEP                           // between a query and a document, unless the file says otherwise
	raw                              // tokens are UTF-8, and bytes are <0xNN>
	escape                           // spaces are U+2581
	dropBlanks                       // words of white space have no tokens
	newlines                         // a word of newlines that is a token becomes it
)

// pres lists the names that llama.cpp knows (llama-vocab.cpp, llama_vocab::impl::load, of September 2026).
var pres = []pre{
	{token.SplitDefault, 0, "default"},
	{token.SplitLlama3, ignoreMerges | addBOS, "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano"},
	{token.SplitLlama3, 0, "dbrx smaug-bpe glm4 chatglm-bpe"},
	{token.SplitJais2, 0, "jais-2"},
	{token.SplitDeepSeekLLM, 0, "deepseek-llm"},
	{token.SplitDeepSeekCoder, 0, "deepseek-coder"},
	{token.SplitDeepSeek3, 0, "deepseek-v3 hunyuan-dense joyai-llm hy_v4"},
	{token.SplitYoutu, ignoreMerges, "youtu"},
	{token.SplitFalcon, 0, "falcon"},
	{token.SplitStarCoder, 0, "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2"},
	{token.SplitGPT2, 0, "gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert " +
		"mpt olmo jais exaone4 trillion granite-docling"},
	{token.SplitGPT2, addSEP, "jina-v1-en jina-v2-code roberta-bpe"},
	{token.SplitQwen2, 0, "qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan grok-2 solar-open"},
	{token.SplitQwen35, 0, "qwen35"},
	{token.SplitBloom, 0, "bloom poro-chat gpt3-finnish"},
	{token.SplitViking, 0, "viking"},
	{token.SplitTekken, ignoreMerges | addBOS, "tekken"},
	{token.SplitChameleon, addBOS, "chameleon"},
	{token.SplitGPT4o, 0, "gpt-4o llama4 kanana2 talkie minimax-m2"},
	{token.SplitGraniteEmbed, ignoreMerges, "granite-embed-multi-97m"},
	{token.SplitTinyAya, 0, "tiny_aya cohere2moe"},
	{token.SplitKimi, 0, "kimi-k2"},
	{token.SplitSuperBPE, 0, "superbpe"},
	{token.SplitBailing, 0, "bailingmoe bailingmoe2 llada-moe"},
	{token.SplitSeedCoder, 0, "seed-coder"},
	{token.SplitAfmoe, 0, "afmoe"},
	{token.SplitLaguna, 0, "laguna"},
	{token.SplitExaoneMoE, 0, "exaone-moe"},
	{token.SplitLines, raw | escape | newlines | mustAddBOS, "gemma4 granite-embed-multi-311m"},
	{token.SplitLines, raw | escape, "sarvam-moe"},
	{token.SplitMiniCPM5, ignoreMerges, "minicpm5"},
	{token.SplitUfakzeka, 0, "ufakzeka"},
	{token.SplitSpark, 0, "spark2_5"},
	{token.SplitBlanks, raw | dropBlanks, "whitespace"},
}

// preNames returns all names, sorted.
func preNames() []string {
	var names []string
	for _, p := range pres {
		names = append(names, strings.Fields(p.names)...)
	}
	slices.Sort(names)
	return names
}

// pre returns the pre-tokenizer of the file. A file that names none has the default one.
func (r *reader) pre() pre {
	if !r.src.Has(keyPre) {
		return pres[0]
	}
	name, err := r.src.String(keyPre)
	if err != nil {
		r.add(err)
		return pres[0]
	}
	for _, p := range pres {
		if slices.Contains(strings.Fields(p.names), name) {
			return p
		}
	}
	names := preNames()
	r.fail(keyPre, "pre-tokenizer %s is not known:%s known are %s", gguf.Quote(name), spell.Hint(name, names), strings.Join(names, ", "))
	return pres[0]
}
