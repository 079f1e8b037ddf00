package runtime

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/runtime/grammar"
	"github.com/ggmlc/ggmlc/runtime/grammar/jsonschema"
	"github.com/ggmlc/ggmlc/runtime/printable"
	"github.com/ggmlc/ggmlc/runtime/sample"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// samplingFlags adds the flags of sampling. Their names and defaults are those of llama.cpp, but for the temperature.
func (g *generateCommand) samplingFlags() {
	o := sample.Defaults()
	o.TopK, o.TopP, o.MinP = 40, 0.95, 0.05
	if lm := g.program.LM; lm != nil {
		o.DRY.Last = min(lm.Context, sample.MaxLast)
	}
	g.o.Sampling = &o
	f, s := &g.flags, &o
	f.float(&s.Temperature, "temp", "T", "temperature (default: 0, the most probable token)")
	f.number(&s.TopK, "top-k", "K", "with --temp: only the K most probable (default: 40; 0: all)", 0)
	f.float(&s.TopP, "top-p", "P", "with --temp: only the fewest that sum to P (default: 0.95; 0: one; 1: all)")
	f.float(&s.MinP, "min-p", "P", "with --temp: only those P times as probable as the best (default: 0.05; 0: all)")
	f.float(&s.TopNSigma, "top-nsigma", "N", "with --temp: only logits N deviations below the best (default: 0, all)")
	f.float(&s.Typical, "typical", "P", "only the fewest of typical information that sum to P (default: 1, all; 0: one)")
	f.float(&s.XTCProbability, "xtc-probability", "P", "how often the top choices are excluded (default: 0)")
	f.float(&s.XTCThreshold, "xtc-threshold", "P", "probability of a top choice (default: 0.1; 0: all are; above 0.5: none)")
	f.float(&s.DynamicRange, "dynatemp-range", "R", "the temperature is T-R to T+R, by entropy (default: 0)")
	f.float(&s.DynamicExponent, "dynatemp-exp", "E", "exponent of the entropy (default: 1; 0: always T+R)")
	f.number(&s.Mirostat, "mirostat", "V", "with --temp: version 1 or 2, in place of filters (default: 0, off)", 0)
	f.float(&s.MirostatTau, "mirostat-ent", "BITS", "information of a token that mirostat aims at (default: 5; 0: the best one)")
	f.float(&s.MirostatEta, "mirostat-lr", "R", "learning rate of mirostat (default: 0.1; 0: it stays as it begins)")
	f.number(&s.RepeatLast, "repeat-last-n", "N", "how many tokens are recent for penalties (default: 64; 0: none)", 0)
	f.float(&s.RepeatPenalty, "repeat-penalty", "R", "above 0: makes recent tokens less probable (default: 1, off)")
	f.float(&s.FrequencyPenalty, "frequency-penalty", "X", "lowers logits of recent tokens for each time (default: 0)")
	f.float(&s.PresencePenalty, "presence-penalty", "X", "lowers logits of recent tokens once (default: 0)")
	f.float(&s.DRY.Multiplier, "dry-multiplier", "X", "lowers logits of tokens that continue repetitions (default: 0)")
	f.float(&s.DRY.Base, "dry-base", "X", "growth of that penalty with their length (default: 1.75; at least 1)")
	f.number(&s.DRY.Allowed, "dry-allowed-length", "N", "shortest repetition with a penalty (default: 2; 0: any token)", 0)
	f.number(&s.DRY.Last, "dry-penalty-last-n", "N", "how many tokens are recent for DRY (default: the context; 0: none)", 0)
	f.add("dry-sequence-breaker", "TEXT", `repetitions end there; several times, or none (default: newline : " *)`, g.addBreaker)
	f.add("logit-bias", "ID+X", "adds X to the logit of token ID (ID-X subtracts); several times", g.addBias)
	f.add("grammar", "FILE", "a grammar in GBNF that the text follows", g.readGrammar)
	f.add("json-schema", "FILE", "a JSON schema whose values the text is one of", g.readSchema)
	if g.program.Grammar != "" {
		f.on(&g.o.AnyText, "any-text", "do not follow the grammar that this program was made with")
	}
	f.seed(&s.Seed, &g.seeded, "seed", "N", "of the draws (default: another one every time)")
}

// readGrammar compiles the grammar of a file.
func (g *generateCommand) readGrammar(file string) error {
	text, err := readSmall(file)
	if err != nil {
		return err
	}
	return g.setGrammar(text)
}

// readSchema compiles the grammar of a file's JSON schema.
func (g *generateCommand) readSchema(file string) error {
	schema, err := readSmall(file)
	if err != nil {
		return err
	}
	text, notes, err := jsonschema.Grammar(schema)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(g.err, "%s: %s: %s\n", g.name, printable.Line(file), printable.Line(note))
	}
	return g.setGrammar(text)
}

// setGrammar compiles a grammar, unless there is one.
func (g *generateCommand) setGrammar(text string) (err error) {
	if g.o.Grammar != nil {
		return errors.New("there is a grammar already: give one of --grammar and --json-schema, once")
	}
	g.o.Grammar, err = grammar.Compile(text)
	return err
}

// readSmall reads a file, but not more of it than makes it too large for a grammar.
func readSmall(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		if path := (*fs.PathError)(nil); errors.As(err, &path) {
			err = path.Err // the message has the name already
		}
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, grammar.MaxText+1))
	return string(data), err
}

// noBreakers is the value of --dry-sequence-breaker for none at all.
const noBreakers = "none"

func (g *generateCommand) addBreaker(text string) error {
	if text == "" {
		return errors.New("it must be a text, or none")
	}
	g.breakers = append(g.breakers, text)
	return nil
}

// addBias parses 29905+1.5 or 29905-inf.
func (g *generateCommand) addBias(text string) error {
	at := strings.IndexAny(text, "+-")
	if at < 1 {
		return errors.New("write the token, + or -, and a number: 15043+1.5, 15043-inf")
	}
	id, idErr := strconv.ParseInt(text[:at], 10, 32)
	add, err := strconv.ParseFloat(text[at:], 32)
	if err := cmp.Or(idErr, err); err != nil || add != add {
		return errors.New("write the token, + or -, and a number: 15043+1.5, 15043-inf")
	}
	g.o.Sampling.Bias = append(g.o.Sampling.Bias, sample.Bias{Token: int32(id), Add: float32(add)})
	return nil
}

// finishSampling sets the options that depend on the vocabulary.
func (g *generateCommand) finishSampling(s *Session) {
	texts := g.breakers
	if slices.Equal(texts, []string{noBreakers}) {
		texts = []string{}
	}
	s.AddBreakers(&g.o.Sampling.DRY, texts)
}

// usualBreakers are those of llama.cpp.
var usualBreakers = []string{"\n", ":", "\"", "*"}

// AddBreakers sets the tokens of the texts that break repetitions (nil: a newline, a colon, a quote and an asterisk). It
// does nothing if DRY is off.
func (s *Session) AddBreakers(d *sample.DRY, texts []string) {
	if d.Multiplier == 0 || s.model.program.LM == nil {
		return
	}
	if texts == nil {
		texts = usualBreakers
	}
	d.Breakers = s.Breakers(texts...)
}

// maxBreakerTail bounds the tokens of a breaker after its head, as llama.cpp does.
const maxBreakerTail = 20

// Breakers returns the sequences of tokens that contain one of the texts, for [sample.DRY]: each token whose text
// contains it, and each token that ends with a beginning of it, followed by the tokens of the rest. A model without
// tokenizer has none.
//
// For example, the text "a:" has the sequences a: and xa:y without a tail, and xa with the tail of the text ":".
func (s *Session) Breakers(texts ...string) []sample.Breaker {
	v := s.model.vocab
	if v == nil {
		return nil
	}
	var list []sample.Breaker
	var piece []byte
	for id := range int32(v.Size()) {
		piece = v.AppendPiece(piece[:0], id)
		for _, text := range texts {
			list = appendBreakers(list, v, id, string(piece), text)
		}
	}
	return list
}

// appendBreakers appends the sequences of one breaker that begin with a token.
func appendBreakers(list []sample.Breaker, v *token.Vocab, id int32, piece, text string) []sample.Breaker {
	if strings.Contains(piece, text) {
		return append(list, sample.Breaker{Head: id})
	}
	for n := min(len(piece), len(text)-1); n > 0; n-- {
		if !strings.HasSuffix(piece, text[:n]) {
			continue
		}
		tail := v.Encode(nil, text[n:], token.Options{})
		list = append(list, sample.Breaker{Head: id, Tail: tail[:min(len(tail), maxBreakerTail)]})
	}
	return list
}
