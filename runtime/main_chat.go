package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/ggmlc/ggmlc/runtime/jinja"
)

// chatFlags are the flags of conversations.
type chatFlags struct {
	on                bool
	system, variables string
	template          string
	ownTemplate       bool // template is set
	keepAll           bool // and end when the context is full
}

// chatFlags adds the flags of conversations, and --stop.
func (g *generateCommand) chatFlags() {
	f, c := &g.flags, &g.chat
	f.on(&c.on, "chat", "a conversation: each line is a message, the end of the input ends it")
	f.text(&c.system, "system", "TEXT", "with --chat: the message of the system before all others")
	f.add("chat-template", "FILE", "with --chat: a template in Jinja, in place of the model's", func(file string) (err error) {
		c.ownTemplate = true
		if c.template, err = readSmall(file); err == nil && strings.TrimSpace(c.template) == "" {
			return errors.New("it is empty: write a template, or leave the flag out for the model's own")
		}
		return err
	})
	f.text(&c.variables, "chat-template-kwargs", "JSON", `with --chat: what else the template reads: {"enable_thinking": false}`)
	f.add("context-shift", "on|off", "with --chat: forget the oldest turns when the context is full, or end (default: on)", func(word string) error {
		if word != "on" && word != "off" {
			return errors.New("it must be on or off")
		}
		c.keepAll = word == "off"
		return nil
	})
	f.add("stop", "TEXT", "end where this text is generated, without it; several times", func(text string) error {
		if text == "" {
			return errors.New("it must be a text")
		}
		g.o.Stop = append(g.o.Stop, text)
		return nil
	})
}

// checkChat reports flags that contradict a conversation, or need one.
func (g *generateCommand) checkChat() error {
	c := &g.chat
	if !c.on {
		for name, value := range map[string]string{"--system": c.system, "--chat-template": c.template, "--chat-template-kwargs": c.variables} {
			if value != "" {
				return usagef("%s: give --chat with it", name)
			}
		}
		return nil
	}
	switch {
	case g.program.Tokenizer == "":
		return usagef("--chat: %s has no tokenizer", g.program.Name)
	case g.tokens != "":
		return usagef("--chat and --tokens: give one of them")
	case g.json:
		return usagef("--chat and --json: give one of them")
	case g.loadFrom != "" || g.saveTo != "":
		return usagef("--chat is not for --load and --save")
	case c.template == "" && g.program.ChatTemplates == "":
		return usagef("--chat: %s has no chat template: give one with --chat-template FILE", g.program.Name)
	}
	vars, err := jsonObject(c.variables)
	if err == nil {
		err = checkVariables(vars)
	}
	if err != nil {
		return usagef("--chat-template-kwargs: %w", err)
	}
	return g.checkTemplate()
}

// checkTemplate reports a template that cannot be parsed, before the model is opened.
func (g *generateCommand) checkTemplate() error {
	if g.chat.template == "" {
		return nil
	}
	if _, err := jinja.Parse(g.chat.template); err != nil {
		return usagef("--chat-template: %w", err)
	}
	return nil
}

// conversation is the run of a conversation.
type conversation struct {
	*generateCommand
	session    *Session
	template   *chatTemplate
	messages   []Message
	input      lineSource
	interrupts <-chan os.Signal
	ended      bool // the input, within the last message

	fromFile bool // the messages are of no user who could write another one
	read     int  // lines of the input
	begin    int  // line of the newest message; 0: it is that of --prompt
	asked    int  // messages
	tooLong  int  // messages that were left out

	answers, prompted, reused, made int
	prefillTime, decodeTime         time.Duration
}

// converse runs a conversation. An interrupt ends an answer, or between answers the conversation.
func (g *generateCommand) converse(ctx context.Context, s *Session) error {
	t, err := s.model.template(ChatOptions{Template: g.chat.template, Variables: g.chat.variables})
	if err != nil {
		return g.adviseTemplate(err)
	}
	g.finishSampling(s)
	g.chooseSeed()
	c := &conversation{generateCommand: g, session: s, template: t, interrupts: g.interrupts}
	if c.interrupts == nil {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt)
		defer signal.Stop(signals)
		if ctx.Err() != nil { // an interrupt before the conversation
			return cancelled(ctx)
		}
		c.interrupts, ctx = signals, context.WithoutCancel(ctx) // whose end is the first interrupt
	}
	c.input = newLineSource(g.in, g.err)
	c.fromFile = !c.input.typed()
	defer c.input.leave()
	if g.chat.system != "" {
		c.messages = append(c.messages, Message{Role: "system", Content: g.chat.system})
	}
	return errors.Join(c.turns(ctx), c.leftOut(), c.report())
}

// leftOut returns an error if messages of a file were left out. The others have their answers.
func (c *conversation) leftOut() error {
	if c.tooLong == 0 || !c.fromFile {
		return nil
	}
	return fmt.Errorf("%d of %d messages were left out, as they are too long", c.tooLong, c.asked)
}

// adviseTemplate adds the flag that gives another template.
func (g *generateCommand) adviseTemplate(err error) error {
	if g.chat.template == "" && errors.Is(err, ErrTemplate) {
		return fmt.Errorf("%w: --chat-template FILE gives another", err)
	}
	return err
}

// turns answers messages until the input ends.
func (c *conversation) turns(ctx context.Context) error {
	text, given := c.prompt, c.hasPrompt
	for {
		if !given {
			var err error
			if text, err = c.ask(); err != nil {
				return endOfInput(err)
			}
		}
		given = false
		if strings.TrimSpace(text) == "" {
			continue
		}
		c.asked++
		c.messages = append(c.messages, Message{Role: "user", Content: text})
		if err := c.answer(ctx); err != nil {
			return err
		}
	}
}

// errInterrupted is the error of ask when the conversation was interrupted.
var errInterrupted = errors.New("interrupted")

func endOfInput(err error) error {
	if err == io.EOF || err == errInterrupted {
		return nil
	}
	return err
}

// ask returns the next message. A line that ends with a backslash continues on the next one, if there is one.
func (c *conversation) ask() (string, error) {
	if c.ended {
		return "", io.EOF
	}
	c.begin = c.read + 1
	var b strings.Builder
	for sign := "> "; ; sign = "… " {
		select {
		case <-c.interrupts:
			c.input.leave()
			fmt.Fprintln(c.err)
			return "", errInterrupted
		case l := <-c.input.next(sign):
			c.read++
			if c.ended = l.err == io.EOF && b.Len() > 0; c.ended {
				return strings.TrimSuffix(b.String(), "\n"), nil
			}
			if l.err != nil {
				return "", l.err
			}
			text, more := strings.CutSuffix(l.text, `\`)
			b.WriteString(text)
			if !more {
				return b.String(), nil
			}
			b.WriteByte('\n')
		}
	}
}

// answer generates and prints the answer to the messages so far, and adds it to them.
func (c *conversation) answer(ctx context.Context) error {
	prompt, err := c.fit()
	if err != nil || prompt == nil {
		return c.adviseTemplate(err)
	}
	o := c.o
	o.Whole, o.MaxTokens = true, c.n
	gen, err := newGeneration(c.session, o)
	if err != nil {
		return err
	}
	answering, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go c.watch(done, cancel)
	return c.say(answering, gen, prompt)
}

// watch cancels an answer that is interrupted.
func (c *conversation) watch(done <-chan struct{}, cancel context.CancelFunc) {
	select {
	case <-done:
	case <-c.interrupts:
		cancel()
	}
}

// say prints the answer token by token.
func (c *conversation) say(ctx context.Context, gen *generation, prompt []int32) error {
	a := &answer{conversation: c, gen: gen}
	err := a.generate(ctx, prompt)
	gen.leave()
	_, writeErr := io.WriteString(c.out, string(gen.text)+"\n")
	a.text.Write(gen.text)
	c.answers, c.made, c.prompted, c.reused = c.answers+1, c.made+gen.made, c.prompted+gen.prompted, c.reused+gen.reused
	c.messages = append(c.messages, Message{Role: "assistant", Content: a.text.String()})
	return errors.Join(a.explain(ctx, err), writeErr)
}

// answer is an answer that is generated.
type answer struct {
	*conversation
	gen  *generation
	ids  []int32 // of its tokens
	text strings.Builder
}

// generate generates and prints tokens. When the context is full it continues without the oldest turns.
func (a *answer) generate(ctx context.Context, prompt []int32) error {
	if err := a.start(ctx, prompt); err != nil {
		return err
	}
	for !a.gen.done {
		begin := time.Now()
		err := a.gen.next(ctx)
		a.decodeTime += time.Since(begin)
		if errors.Is(err, ErrContextFull) {
			if prompt, err = a.shift(err, len(a.ids)); err == nil {
				err = a.start(ctx, append(prompt, a.ids...))
			}
			if err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		a.ids = append(a.ids, a.gen.id)
		a.text.Write(a.gen.text)
		if _, err := a.out.Write(a.gen.text); err != nil {
			return err
		}
	}
	return nil
}

// start runs the messages, and what was generated after them.
func (a *answer) start(ctx context.Context, prompt []int32) error {
	begin := time.Now()
	defer func() { a.prefillTime += time.Since(begin) }()
	if a.gen.made == 0 {
		return a.gen.start(ctx, prompt)
	}
	return a.gen.restart(ctx, prompt)
}

// explain reports why an answer ended before its end. It returns the error if that ends the conversation, too.
func (a *answer) explain(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, ErrCancelled) && ctx.Err() != nil:
		fmt.Fprintf(a.err, "%s: the answer was interrupted\n", a.name)
		return nil
	case errors.Is(err, ErrContextFull) && !a.chat.keepAll:
		fmt.Fprintf(a.err, "%s: the answer ends here: with its message it fills the context of %d tokens\n", a.name, a.program.LM.Context)
		return nil
	case err == nil && a.gen.finish == FinishLength:
		fmt.Fprintf(a.err, "%s: the answer ends after %d tokens (-n)\n", a.name, a.n)
	}
	return a.full(err)
}

// report prints what was done to standard error.
func (c *conversation) report() error {
	_, err := fmt.Fprintf(c.err, "%s: %d answers; prompts %d tokens, %.0f tok/s, %d more were in the cache; generated %d tokens, %.0f tok/s; ran for %.1f s%s\n",
		c.name, c.answers, c.prompted, rate(c.prompted, c.prefillTime), c.reused, c.made, rate(c.made, c.decodeTime), (c.prefillTime + c.decodeTime).Seconds(), c.seedText())
	return err
}
