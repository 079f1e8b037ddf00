package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"strings"

	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// Exit statuses, those of ggmlc.
const (
	exitDone   = 0
	exitFailed = 1 // the model, its weights or the environment are wrong, or the program was interrupted
	exitUsage  = 2
	exitBug    = 4
)

// Main runs the command line of an emitted program. It does not return.
func Main(p *Program) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process at once
	os.Exit(run(ctx, p, os.Args, os.Stdout, os.Stderr))
}

// command is one command of an emitted program.
type command struct {
	name string // "" is generation
	args string
	doc  string
	show func(p *Program) bool // nil: the help always lists it
	bind func(c *cli) func(ctx context.Context) error
}

// commands returns all commands in the order of the help text.
func commands() []command {
	language := func(p *Program) bool { return p.LM != nil }
	tokenizer := func(p *Program) bool { return p.Tokenizer != "" }
	return []command{
		{"", "--prompt TEXT | --tokens 1,2,3 | --chat", "generate text", language, (*cli).generate},
		{"call", "FUNC name=x.npy … -o DIR", "run one function on arrays", nil, (*cli).call},
		{"bench", "", "measure this program and this machine", language, (*cli).bench},
		{"logits", textForm, "print the most probable next tokens", language, (*cli).logits},
		{"perplexity", textForm, "measure how well the model predicts a text", language, (*cli).perplexity},
		{"embed", textForm, "print the embedding of a text", (*Program).Embeds, (*cli).embed},
		{"tokenize", textForm, "print the tokens of a text", tokenizer, (*cli).tokenize},
		{"detokenize", "1,2,3 | --file FILE", "print the text of tokens", tokenizer, (*cli).detokenize},
		{"plan", "", "print the plan: backends, splits, arenas, barriers", nil, (*cli).plan},
		{"verify", "", "compute the weights' hash, and look for NaN", nil, (*cli).verify},
		{"version", "", "print what this was made from and with", nil, (*cli).version},
		{"help", "[COMMAND]", "list the commands, or the flags of one", nil, nil},
	}
}

// cli is one invocation of the command line.
type cli struct {
	program    *Program
	name       string
	in         io.Reader
	out, err   io.Writer
	interrupts <-chan os.Signal // nil: those of the process

	flags   flags
	rest    []string // positional arguments
	options Options
	json    bool

	profile, timeline string // files to write
}

// run is Main without the process: it returns the exit status.
func run(ctx context.Context, p *Program, args []string, out, errs io.Writer) (status int) {
	return runWith(ctx, &cli{program: p, in: os.Stdin, out: out, err: errs}, args)
}

// runWith is run for a command line whose program and files are set.
func runWith(ctx context.Context, c *cli, args []string) (status int) {
	p := c.program
	c.name = printable.Line(p.Name)
	if len(args) > 0 {
		c.name, args = filepath.Base(args[0]), args[1:]
	}
	defer func() {
		if v := recover(); v != nil {
			c.panicked(v, debug.Stack())
			status = exitBug
		}
	}()
	return c.exit(c.dispatch(ctx, args))
}

// dispatch finds the command, parses its flags and runs it.
func (c *cli) dispatch(ctx context.Context, args []string) error {
	cmd := commands()[0]
	if len(args) > 0 {
		if found := c.find(args[0]); found != nil {
			cmd, args = *found, args[1:]
		}
	}
	if cmd.name == "help" {
		return c.helpOf(args)
	}
	do := cmd.bind(c)
	rest, err := c.flags.parse(args)
	switch {
	case errors.Is(err, errHelp):
		return c.help(cmd)
	case errors.Is(err, errVersion):
		return c.version()(ctx)
	}
	if err != nil {
		c.json = c.json || wantsJSON(args)
		return err
	}
	if c.rest = rest; cmd.args == "" || cmd.name == "" {
		if len(rest) > 0 && c.find(rest[0]) != nil {
			return usagef("%s comes after flags: write the command first, then its flags", rest[0])
		}
		if len(rest) > 0 {
			return usagef("unexpected argument %q: %s -h lists what there is", rest[0], c.name)
		}
	}
	return do(ctx)
}

func (c *cli) find(name string) *command {
	for _, cmd := range commands() {
		if cmd.name == name && name != "" {
			return &cmd
		}
	}
	return nil
}

// helpOf prints the usage of the command that is named, or of all.
func (c *cli) helpOf(names []string) error {
	cmd := commands()[0]
	if len(names) > 0 && !isHelp(names[0]) {
		found := c.find(names[0])
		if found == nil {
			return usagef("there is no command %q: %s help lists the commands", names[0], c.name)
		}
		cmd = *found
	}
	if cmd.bind != nil {
		cmd.bind(c)
	}
	return c.help(cmd)
}

func isHelp(arg string) bool { return arg == "help" || arg == "-h" || arg == "--help" }

// help prints the usage of a command. That of generation lists all commands.
func (c *cli) help(cmd command) error {
	var b strings.Builder
	if cmd.name != "" {
		fmt.Fprintf(&b, "%s %s %s: %s\n", c.name, cmd.name, cmd.args, cmd.doc)
	} else {
		fmt.Fprintf(&b, "%s: %s, compiled by %s\n\n", c.name, printable.Line(c.program.Name), printable.Line(c.program.Compiler))
		for _, cmd := range commands() {
			if cmd.show == nil || cmd.show(c.program) {
				fmt.Fprintf(&b, "  %s %-36s %s\n", c.name, strings.TrimSpace(cmd.name+" "+cmd.args), cmd.doc)
			}
		}
	}
	if cmd.name != "" || c.program.LM != nil {
		fmt.Fprintf(&b, "\nflags:\n%s", c.flags.help())
	} else {
		fmt.Fprintf(&b, "\n%s COMMAND -h lists the flags of a command\n", c.name)
	}
	if cmd.name == "call" {
		b.WriteString("\nfunctions:\n" + c.signatures())
	}
	_, err := io.WriteString(c.out, b.String())
	return err
}

// modelFlags adds the flags of all commands that open the model.
func (c *cli) modelFlags() {
	c.flags.number(&c.options.Threads, "threads", "N", "threads (0, the default: one per core)", 0)
	c.flags.text(&c.options.Weights, "weights", "FILE", "the weights, if they are not part of this file")
	c.flags.on(&c.options.Verify, "verify", "hash the weights first, even if they exceed 64 MiB")
	if c.program.Profile != nil {
		c.flags.text(&c.profile, "profile", "FILE", "write a trace of all steps (for ui.perfetto.dev)")
	}
	if c.program.observes() {
		c.flags.text(&c.options.observeTo, "observe-to", "DIR", "write the observed values of each step as .npy files, in a folder for each step")
	}
	if d := c.program.Devices; d != nil {
		c.flags.text(&c.timeline, "timeline", "FILE", "write what each queue did and when (for ui.perfetto.dev)")
		d.flags(&c.flags)
	}
}

// threadsText is a number of threads in a sentence.
func threadsText(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// open opens the model and a session. The returned function closes the model, and then writes the trace if the command
// line asks for one: what the queues did last is known only then.
func (c *cli) open() (*Session, func() error, error) {
	profile, timeline, err := c.createTraces()
	if err != nil {
		return nil, nil, err
	}
	if timeline != nil {
		c.options.Timeline = timeline
	}
	c.options.profiled = profile != nil
	s, err := c.openSession()
	if err != nil {
		return nil, nil, errors.Join(err, profile.close(), timeline.close())
	}
	m := s.model
	for _, note := range m.Notes() {
		fmt.Fprintf(c.err, "%s: %s\n", c.name, note)
	}
	if n := m.Threads(); n < c.options.Threads {
		c.note("threads", "--threads %d: cut to %d: there are %d processors (GOMAXPROCS), and the plan is for at most %s",
			c.options.Threads, n, goruntime.GOMAXPROCS(0), threadsText(c.program.maxThreads()))
	}
	if profile != nil {
		c.program.Profile.begin(m.pool.workers)
	}
	return s, func() error {
		err := m.Close()
		if profile != nil {
			err = errors.Join(err, c.program.Profile.write(profile, m.pool.workers, m.devices))
		}
		return errors.Join(err, profile.close(), timeline.close())
	}, nil
}

// withSession checks the command line, and then does the work of a command with a session of the model.
func (c *cli) withSession(ctx context.Context, check func() error, do func(context.Context, *Session) error) error {
	if err := check(); err != nil {
		return err
	}
	s, closeModel, err := c.open()
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, s), closeModel())
}

func (c *cli) plan() func(context.Context) error {
	c.flags.on(&c.json, "json", "as one JSON document")
	return func(context.Context) error {
		text := c.program.plans()
		if c.json {
			text = c.program.planDocument()
		}
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		_, err := io.WriteString(c.out, text)
		return err
	}
}

func (c *cli) verify() func(context.Context) error {
	c.flags.text(&c.options.Weights, "weights", "FILE", "the weights, if they are not part of this file")
	return func(context.Context) error {
		for p := c.program; p != nil; p = p.Fallback {
			w, err := openWeights(p, Options{Weights: c.options.Weights, Verify: true})
			if err != nil {
				return err
			}
			if err := errors.Join(w.finite(p), w.close()); err != nil {
				return err
			}
			if _, err = fmt.Fprintf(c.out, "ok: %d bytes of weights, sha256 %s\n", p.Weights.Size, p.Weights.SHA256); err != nil {
				return err
			}
		}
		return nil
	}
}

func (c *cli) version() func(context.Context) error {
	return func(context.Context) error {
		if err := c.program.selectKernels(); err != nil {
			return err
		}
		_, err := fmt.Fprintf(c.out, "%s\ncompiler %s\nplan %s\nruntime %d to %d, %s %s/%s, %s kernels\n", printable.Line(c.program.Name), printable.Line(c.program.Compiler),
			printable.Line(c.program.PlanID), MinVersion, MaxVersion, goruntime.Version(), goruntime.GOOS, goruntime.GOARCH, cpu.Active())
		return err
	}
}
