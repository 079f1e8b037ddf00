package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/ggmlc/ggmlc/runtime/printable"
)

// promptsRun is a run of --prompts: some goroutines take one prompt after the other, each with a session.
type promptsRun struct {
	*generateCommand
	sessions *Sessions
	begin    time.Time

	mu     sync.Mutex // protects what follows
	next   int        // prompt that no goroutine has taken
	lines  []promptLine
	shown  int   // prompts whose answers have been printed
	failed error // that ends all
}

// promptLine is a line of the file.
type promptLine struct {
	number int // from 1
	text   string
	answer []byte
	done   bool
	failed error // that ended this one

	tokens, reused, generated int
}

// checkPrompts reports flags that do not go with --prompts.
func (g *generateCommand) checkPrompts() error {
	limit := g.program.LM.sequences()
	switch {
	case g.chat.on:
		return usagef("--prompts and --chat: give one of them")
	case g.hasPrompt || g.tokens != "" || g.saveTo != "" || g.loadFrom != "":
		return usagef("--prompts: leave --prompt, --tokens, --save and --load out, which are about one sequence")
	case g.program.Tokenizer == "":
		return usagef("--prompts: %s has no tokenizer", g.program.Name)
	case g.parallel > limit:
		return usagef("--parallel %d: this program was built for %d at a time: build it with --sequences %d", g.parallel, limit, g.parallel)
	}
	return nil
}

// readPrompts returns the lines that are not empty.
func readPrompts(path string) ([]promptLine, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	var lines []promptLine
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSuffix(line, "\r"); line != "" {
			lines = append(lines, promptLine{number: i + 1, text: line})
		}
	}
	if lines == nil {
		return nil, fmt.Errorf("--prompts %s: it has no lines: write one prompt a line", path)
	}
	return lines, nil
}

// runPrompts continues all prompts of the file.
func (g *generateCommand) runPrompts(ctx context.Context) error {
	lines, err := readPrompts(g.prompts)
	if err != nil {
		return err
	}
	s, closeModel, err := g.open()
	if err != nil {
		return err
	}
	g.finishSampling(s)
	g.chooseSeed()
	g.o.Whole = true
	r := &promptsRun{generateCommand: g, sessions: newSessions(s), lines: lines, begin: time.Now()}
	g.loaded = time.Since(processStart)
	if g.parallel == 0 {
		g.parallel = r.sessions.Limit()
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	for range min(g.parallel, len(lines)) {
		all.Go(func() {
			if err := r.work(ctx); err != nil {
				r.fail(err)
				stop()
			}
		})
	}
	all.Wait()
	return errors.Join(cmp.Or(r.failed, r.refused()), r.summarize(), closeModel())
}

// refused returns an error if some prompts failed. The others have their answers.
func (r *promptsRun) refused() error {
	n := 0
	for i := range r.lines {
		if r.lines[i].failed != nil {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%s: %d of %d prompts failed", r.prompts, n, len(r.lines))
}

// fail notes the first error. Those after it are consequences.
func (r *promptsRun) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed == nil {
		r.failed = err
	}
}

// work continues prompts until all are taken.
func (r *promptsRun) work(ctx context.Context) error {
	for {
		line := r.take()
		if line == nil {
			return nil
		}
		if err := r.answer(ctx, line); err != nil {
			return fmt.Errorf("line %d: %w", line.number, err)
		}
	}
}

// take returns the next prompt; nil if there is none.
func (r *promptsRun) take() *promptLine {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == len(r.lines) || r.failed != nil {
		return nil
	}
	r.next++
	return &r.lines[r.next-1]
}

// answer continues one prompt in a session of its own. An error ends all prompts; others are those of the line.
func (r *promptsRun) answer(ctx context.Context, line *promptLine) error {
	s, err := r.sessions.NewSession(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if line.failed, err = r.generate(ctx, s, line); err != nil {
		return err
	}
	if endsAll(line.failed) {
		return line.failed
	}
	return r.finish(line)
}

// endsAll reports whether an error of one prompt would be that of all others.
func endsAll(err error) bool {
	return errors.Is(err, ErrCancelled) || errors.Is(err, ErrClosed) || errors.Is(err, ErrFault)
}

// generate generates and prints the tokens of a line. It returns an error of the line, and one of the output.
func (r *promptsRun) generate(ctx context.Context, s *Session, line *promptLine) (failed, err error) {
	prompt, o := s.encode(line.text), r.o
	line.tokens, o.MaxTokens = len(prompt), r.most(len(prompt))
	g, err := newGeneration(s, o)
	if err != nil {
		return err, nil
	}
	if err := g.start(ctx, prompt); err != nil {
		return err, nil
	}
	line.reused = g.reused
	for !g.done {
		if err := g.next(ctx); err != nil {
			return err, nil
		}
		line.generated++
		if err := r.add(line, g); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// add prints a token as JSON, or appends its text to the answer.
func (r *promptsRun) add(line *promptLine, g *generation) error {
	if !r.json {
		line.answer = append(line.answer, g.text...)
		return nil
	}
	b := fmt.Appendf(nil, `{"line":%d,`, line.number)
	b = append(b, r.appendToken(nil, g)[1:]...)
	if g.done {
		b = fmt.Appendf(b[:len(b)-2], `,"finish":%q}`+"\n", g.finish)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.out.Write(b)
	return err
}

// report prints the error of a line: as its last record, or to standard error.
func (r *promptsRun) report(line *promptLine) error {
	text := printable.Text(line.failed.Error())
	if !r.json {
		_, err := fmt.Fprintf(r.err, "%s: line %d: %s\n", r.name, line.number, text)
		return err
	}
	b := appendJSONString(fmt.Appendf(nil, `{"line":%d,"error":`, line.number), text)
	_, err := r.out.Write(append(b, '}', '\n'))
	return err
}

// finish prints the answers that are complete, in the order of their prompts, with a line between them.
func (r *promptsRun) finish(line *promptLine) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	line.done = true
	if line.failed != nil {
		if err := r.report(line); err != nil {
			return err
		}
	}
	for ; r.shown < len(r.lines) && r.lines[r.shown].done; r.shown++ {
		if r.json {
			continue
		}
		text := append(r.lines[r.shown].answer, '\n')
		if r.shown > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := r.out.Write(text); err != nil {
			return err
		}
		r.lines[r.shown].answer = nil
	}
	return nil
}

// summarize prints the speed of all together.
func (r *promptsRun) summarize() error {
	tokens, reused, generated, failed := 0, 0, 0, 0
	for i := range r.lines {
		l := &r.lines[i]
		if l.failed != nil {
			failed++
			continue
		}
		tokens, reused, generated = tokens+l.tokens-l.reused, reused+l.reused, generated+l.generated
	}
	took, load := time.Since(r.begin), milliseconds(r.loaded)
	if r.json {
		b := fmt.Appendf(nil, `{"summary":{"prompts":%d,"failed":%d,"parallel":%d,"prompt_tokens":%d,"cached_tokens":%d,"generated":%d`, len(r.lines), failed, r.parallel, tokens+reused, reused, generated)
		b = r.appendSeed(b)
		b = appendFields(b, field{"seconds", took.Seconds()}, field{"tok_s", rate(generated, took)}, field{"load_ms", load})
		_, err := r.out.Write(append(b, '}', '}', '\n'))
		return err
	}
	fmt.Fprintf(r.err, "%s: %d prompts, %d at a time: %d tokens, %d more were in the cache, then generated %d, %.0f tok/s with the prompts; loaded in %.1f ms, ran for %.1f s; threads %s%s\n",
		r.name, len(r.lines), r.parallel, tokens, reused, generated, rate(generated, took), load, took.Seconds(), r.sessions.Model().threadsInUse(), r.seedText())
	return nil
}
