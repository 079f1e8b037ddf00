package runtime

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ggmlc/ggmlc/runtime/lineedit"
)

// defaultTokens is the default of -n.
const defaultTokens = 256

// generateCommand is the command that generates text.
type generateCommand struct {
	*cli
	prompt, tokens     string
	promptFile         string
	hasPrompt          bool
	saveTo, loadFrom   string
	prompts            string // a file
	parallel           int
	n                  int
	o                  GenerateOptions
	seeded, withLogits bool
	breakers           []string
	chat               chatFlags
	line               []byte // reused for every token

	promptTokens int
	loaded       time.Duration
}

func (c *cli) generate() func(context.Context) error {
	g := &generateCommand{cli: c}
	f := &c.flags
	f.add("prompt", "TEXT", "text to go on from; - is standard input", func(t string) error { g.prompt, g.hasPrompt = t, true; return nil })
	f.given(&g.promptFile, "file", "FILE", "the text to go on from is in this file; - is standard input", fileName)
	f.given(&g.tokens, "tokens", "1,2,3", "token ids to go on from, taken as they are", tokenList)
	f.number(&g.n, "n", "N", "at most N tokens (default: 256, or what the context has room for)", 1)
	g.samplingFlags()
	f.text(&g.saveTo, "save", "FILE", "write the sequence at the end, for --load of this program")
	f.text(&g.loadFrom, "load", "FILE", "go on from a sequence that --save has written")
	f.text(&g.prompts, "prompts", "FILE", "go on from each line of a file, several at a time")
	f.number(&g.parallel, "parallel", "N", "with --prompts: so many at a time (default: all that the program was built for)", 1)
	g.chatFlags()
	f.on(&g.o.IgnoreEOG, "ignore-eos", "go on after an end-of-generation token")
	f.on(&c.json, "json", "one JSON object a line: tokens, then a summary")
	f.on(&g.withLogits, "logits", "with --json: also the logits")
	c.modelFlags()
	return g.run
}

func (g *generateCommand) run(ctx context.Context) error {
	if err := g.check(); err != nil {
		return err
	}
	if err := g.readPrompt(ctx); err != nil {
		return err
	}
	if g.prompts != "" {
		return g.runPrompts(ctx)
	}
	s, closeModel, err := g.open()
	if err != nil {
		return err
	}
	if g.chat.on {
		return errors.Join(g.converse(ctx, s), closeModel())
	}
	if err := g.load(s); err != nil {
		return errors.Join(err, closeModel())
	}
	prompt, err := g.promptOf(s)
	if err != nil {
		return errors.Join(err, closeModel())
	}
	g.loaded = time.Since(processStart)
	return errors.Join(g.save(s, g.stream(ctx, s, prompt)), closeModel())
}

// stdin names standard input where a file or a prompt is expected.
const stdin = "-"

// readPrompt reads the prompt if a file has it. One newline at its end is that of the file.
func (g *generateCommand) readPrompt(ctx context.Context) (err error) {
	if g.promptFile == "" {
		return nil
	}
	text, err := g.readText(ctx, g.promptFile)
	text, _ = strings.CutSuffix(text, "\n")
	g.prompt, _ = strings.CutSuffix(text, "\r")
	return err
}

// check reports flags that contradict each other.
func (g *generateCommand) check() error {
	lm := g.program.LM
	if lm == nil {
		return usagef("%s does not generate text: %s call runs its functions, %s -h lists the commands", g.program.Name, g.name, g.name)
	}
	for _, check := range []func() error{g.checkSource, g.checkTokenizer, g.checkForm, g.checkChat} {
		if err := check(); err != nil {
			return err
		}
	}
	g.o.NoLogits = !g.withLogits
	if err := g.o.Sampling.CheckFor(lm.Vocab); err != nil {
		return usageError{err}
	}
	if g.saveTo != "" {
		return canWrite(g.saveTo)
	}
	return nil
}

// checkSource reports flags of texts to continue, of which there is one.
func (g *generateCommand) checkSource() error {
	if g.promptFile != "" && g.hasPrompt {
		return usagef("--prompt and --file: give one of them")
	}
	if g.prompt == stdin {
		g.promptFile = stdin
	}
	g.hasPrompt = g.hasPrompt || g.promptFile != ""
	switch {
	case g.prompts != "":
		return g.checkPrompts()
	case g.hasPrompt && g.tokens != "":
		return usagef("--prompt and --tokens: give one of them")
	case g.parallel > 0:
		return usagef("--parallel: give --prompts FILE with it")
	case g.promptFile == stdin && g.chat.on:
		return usagef("--chat reads messages from standard input: give the first one with --prompt TEXT or --file FILE")
	case !g.hasPrompt && g.tokens == "" && g.loadFrom == "" && !g.chat.on:
		return usagef("nothing to continue from: give --prompt TEXT, --file FILE or --tokens 1,2,3, or --chat; -h lists the commands")
	}
	return nil
}

// checkTokenizer reports flags that need a tokenizer.
func (g *generateCommand) checkTokenizer() error {
	if g.program.Tokenizer != "" {
		return nil
	}
	switch {
	case g.hasPrompt:
		return usagef("--prompt: %s has no tokenizer: give --tokens 1,2,3", g.program.Name)
	case g.o.Grammar != nil:
		return usagef("--grammar: %s has no tokenizer", g.program.Name)
	case g.o.Stop != nil:
		return usagef("--stop: %s has no tokenizer", g.program.Name)
	}
	return nil
}

// checkForm reports flags of the output and the grammar that contradict each other.
func (g *generateCommand) checkForm() error {
	switch {
	case g.withLogits && g.chat.on:
		return usagef("--logits is for --prompt, --tokens and --prompts, with --json, not for --chat")
	case g.withLogits && !g.json:
		return usagef("--logits: give --json with it")
	case g.o.AnyText && g.o.Grammar != nil:
		return usagef("--any-text follows no grammar: leave it out, or --grammar and --json-schema")
	}
	return nil
}

// promptOf returns the tokens of the prompt, and settles what depends on them.
func (g *generateCommand) promptOf(s *Session) (prompt []int32, err error) {
	if g.hasPrompt {
		prompt = s.encode(g.prompt)
	} else if g.tokens != "" {
		if prompt, err = parseTokens(g.tokens); err != nil {
			return nil, err
		}
	}
	g.finishSampling(s)
	g.promptTokens, g.o.MaxTokens = len(prompt), g.most(s.length+len(s.pending)+len(prompt))
	g.chooseSeed()
	return prompt, nil
}

// most returns the limit of generated tokens after that many. The last one is not run, so it needs no position.
func (g *generateCommand) most(used int) int {
	if g.n > 0 {
		return g.n
	}
	return max(1, min(defaultTokens, g.program.LM.Context-used+1))
}

// chooseSeed sets the seed if the command line does not.
func (g *generateCommand) chooseSeed() {
	if !g.seeded {
		g.o.Sampling.Seed = uint64(time.Now().UnixNano())
	}
}

func parseTokens(list string) ([]int32, error) {
	var ids []int32
	for _, s := range strings.Split(list, ",") {
		id, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
		if err != nil {
			return nil, usagef("--tokens: %q is no token id: give whole numbers with commas between them", s)
		}
		ids = append(ids, int32(id))
	}
	return ids, nil
}

// stream generates and prints tokens one by one. It prints the summary if the prompt has been processed, even after
// an error or an interrupt.
func (g *generateCommand) stream(ctx context.Context, s *Session, prompt []int32) error {
	gen, err := newGeneration(s, g.o)
	if err != nil {
		return err
	}
	gen.saved = g.saveTo != ""
	if err := gen.start(ctx, prompt); err != nil {
		return err
	}
	for err == nil && !gen.done {
		if err = gen.next(ctx); err == nil {
			err = g.print(gen)
		}
	}
	return errors.Join(err, g.summary(gen, err))
}

func (g *generateCommand) print(gen *generation) error {
	line := g.line[:0]
	switch {
	case g.json:
		line = g.appendToken(line, gen)
	case gen.decoder == nil:
		line = append(strconv.AppendInt(line, int64(gen.id), 10), '\n')
	default:
		line = append(line, gen.text...)
	}
	g.line = line
	if len(line) == 0 {
		return nil
	}
	_, err := g.out.Write(line)
	return err
}

func (g *generateCommand) appendToken(b []byte, gen *generation) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, int64(gen.id), 10)
	b = append(b, `,"text":`...)
	b = appendJSONString(b, gen.text)
	if g.withLogits {
		sep := byte('[')
		b = append(b, `,"logits":`...)
		for _, l := range gen.logits {
			b = append(b, sep)
			b = appendJSONFloat(b, float64(l), 32)
			sep = ','
		}
		b = append(b, ']')
	}
	return append(b, '}', '\n')
}

// rate returns tokens per second, or 0 if nothing was measured.
func rate(tokens int, d time.Duration) float64 {
	if tokens <= 0 || d <= 0 {
		return 0
	}
	return float64(tokens) / d.Seconds()
}

// field is a number with its name in a JSON object.
type field struct {
	name  string
	value float64
}

// appendFields appends numbers to an object that has members already.
func appendFields(b []byte, fs ...field) []byte {
	for _, f := range fs {
		b = append(b, ',')
		b = appendJSONString(b, f.name)
		b = append(b, ':')
		b = strconv.AppendFloat(b, f.value, 'f', 3, 64)
	}
	return b
}

// terminal reports whether w is a terminal, where a prompt would follow the text.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && lineedit.IsTerminal(f)
}
