package cmd

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
)

// progressFlags are the flags of commands that show progress.
type progressFlags struct {
	verbose bool
	shown   string // one of progressForms; empty: a terminal decides
}

// progressForms are the values of --progress.
var progressForms = []string{"plain", "tty", "none"}

// registerProgress adds the flags. quiet is that of the command's [compileFlags].
func (f *progressFlags) registerProgress(cmd *cobra.Command, quiet *bool) {
	fs := cmd.Flags()
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "a line for each pass that has ended, with its figures")
	fs.BoolVar(quiet, "quiet", false, "print errors only: no progress, no notes, no closing line")
	fs.StringVar(&f.shown, "progress", "", "plain (lines, also in a pipe), tty (bars) or none (default: bars on a terminal, nothing in a pipe)")
	complete(cmd, "progress", progressForms...)
}

// check refuses flags that contradict each other.
func (f *progressFlags) checkProgress(o outputForm) error {
	switch visible := f.shown != "" && f.shown != "none"; {
	case f.shown != "" && !slices.Contains(progressForms, f.shown):
		return usagef("--progress %s: choose one of %s", value(f.shown), strings.Join(progressForms, ", "))
	case o == asErrors && (f.verbose || visible):
		return usagef("--quiet and --verbose or --progress exclude each other: leave one out")
	case o == asJSON && (f.verbose || visible):
		return usagef("--json prints objects only: leave --verbose and --progress out")
	}
	return nil
}

// progress shows what the compiler does: a bar while bytes are counted, a line for each pass if asked for, and a
// closing line.
type progress struct {
	w     io.Writer // nil: nothing is shown
	lines bool      // each step is shown as a line
	bars  bool      // bytes are shown as a bar
	bar   *progressbar.ProgressBar
	begun bool // bytes were reported

	// after is called after each pass. It is nil if nothing is shown, which avoids comparing dumps.
	after func(passes.Step, *ir.Module) error
}

// newProgress shows progress on w as the flags specify. Without them it is shown on a terminal that a person reads,
// which is not the case with --json.
func newProgress(w io.Writer, form outputForm, f progressFlags) *progress {
	p := &progress{}
	if form != asText {
		return p
	}
	file, ok := w.(*os.File)
	terminal := ok && term.IsTerminal(int(file.Fd()))
	if !terminal && !f.verbose && (f.shown == "" || f.shown == "none") {
		return p
	}
	p.w = w
	p.bars = f.shown == "tty" || f.shown == "" && terminal
	p.lines = f.shown == "plain"
	if f.verbose {
		p.after = p.pass
	}
	return p
}

// pass prints the line of a pass that has ended.
func (p *progress) pass(s passes.Step, _ *ir.Module) error {
	fig := s.Figures
	fmt.Fprintf(p.w, "%-14s %6.1f ms  %5d nodes", s.Pass, float64(s.Stats.Time.Microseconds())/1000, fig.Nodes)
	if fig.Splits > 0 {
		fmt.Fprintf(p.w, "  splits %d  copies %d", fig.Splits, fig.Copies)
	}
	if fig.ArenaBytes > 0 {
		fmt.Fprintf(p.w, "  arenas %s", ir.BytesText(fig.ArenaBytes))
	}
	fmt.Fprintln(p.w)
	return nil
}

// line prints the next action.
func (p *progress) line(what string) {
	if p.w != nil && (p.bars || p.lines) {
		p.done()
		fmt.Fprintln(p.w, what)
	}
}

// building prints that the Go command is called, which takes most of the time of small models.
func (p *progress) building() {
	p.line("building the executable (the first time, Go compiles its library too: a minute or more)")
}

// bytes advances the bar.
func (p *progress) bytes(done, total int64) {
	if p.lines && !p.begun {
		fmt.Fprintf(p.w, "packing %s of weights\n", ir.BytesText(total))
	}
	p.begun = true
	if !p.bars {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(p.w), progressbar.OptionShowBytes(true),
			progressbar.OptionSetDescription("weights"), progressbar.OptionClearOnFinish())
	}
	p.bar.Set64(done)
}

// done removes the bar.
func (p *progress) done() {
	if p.bar != nil {
		p.bar.Finish()
		p.bar = nil
	}
}
