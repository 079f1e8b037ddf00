package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// promptsRun is a run of --prompts: some goroutines take one prompt after the other, each with a session.
type promptsRun struct {
	*generateCommand
	sessions *Sessions
	begin    time.Time

	mu     sync.Mutex // protects what follows
	next   int        // prompt that no goroutine has taken
	lines  []promptLine
	shown  int // prompts whose answers have been printed
	failed error
}

// promptLine is a line of the file.
type promptLine struct {
	number            int // from 1
	text              string
	answer            []byte
	done              bool
	tokens, generated int
}

// checkPrompts reports flags that do not go with --prompts.
func (g *generateCommand) checkPrompts() error {
	limit := g.program.LM.sequences()
	switch {
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
		return nil, fmt.Errorf("--prompts %w", err)
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
	return errors.Join(r.failed, r.summarize(), closeModel())
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

// answer continues one prompt in a session of its own.
func (r *promptsRun) answer(ctx context.Context, line *promptLine) error {
	s, err := r.sessions.NewSession(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	prompt, o := s.encode(line.text), r.o
	line.tokens, o.MaxTokens = len(prompt), r.most(len(prompt))
	g, err := newGeneration(s, o)
	if err != nil {
		return err
	}
	for err = g.start(ctx, prompt); err == nil && !g.done; {
		if err = g.next(ctx); err == nil {
			line.generated++
			err = r.add(line, g)
		}
	}
	if err != nil {
		return err
	}
	return r.finish(line)
}

// add prints a token as JSON, or appends its text to the answer.
func (r *promptsRun) add(line *promptLine, g *generation) error {
	if !r.json {
		line.answer = append(line.answer, g.text...)
		return nil
	}
	b := append([]byte(`{"line":`), strconv.Itoa(line.number)...)
	b = append(b, ',')
	token := r.appendToken(nil, g)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.out.Write(append(b, token[1:]...))
	return err
}

// finish prints the answers that are complete, in the order of their prompts, with a line between them.
func (r *promptsRun) finish(line *promptLine) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	line.done = true
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
	tokens, generated := 0, 0
	for i := range r.lines {
		tokens += r.lines[i].tokens
		generated += r.lines[i].generated
	}
	took := time.Since(r.begin)
	if r.json {
		b := fmt.Appendf(nil, `{"summary":{"prompts":%d,"parallel":%d,"prompt_tokens":%d,"generated":%d`, len(r.lines), r.parallel, tokens, generated)
		b = appendFields(b, field{"seconds", took.Seconds()}, field{"tok_s", rate(generated, took)}, field{"load_ms", float64(r.loaded.Microseconds()) / 1000})
		_, err := r.out.Write(append(b, '}', '}', '\n'))
		return err
	}
	fmt.Fprintf(r.err, "%s: %d prompts, %d at a time: %d tokens, then generated %d, %.0f tok/s with the prompts; loaded in %.1f ms; threads %d\n",
		r.name, len(r.lines), r.parallel, tokens, generated, rate(generated, took), float64(r.loaded.Microseconds())/1000, r.sessions.Model().Threads())
	return nil
}
