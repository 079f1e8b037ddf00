package cmd

import (
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
)

// progress shows the compiler's progress on a terminal: a line for each pass, and a bar while bytes are counted. It
// is silent in a pipe.
type progress struct {
	w   io.Writer // nil: silent
	bar *progressbar.ProgressBar

	// after is called after each pass. It is nil if nothing is shown, which avoids comparing dumps.
	after func(passes.Step, *ir.Module) error
}

// newProgress shows progress on w if it is a terminal that a person reads, which is not the case with --json.
func newProgress(w io.Writer, form outputForm) *progress {
	p := &progress{}
	if f, ok := w.(*os.File); ok && form == asText && term.IsTerminal(int(f.Fd())) {
		p.w = w
		p.after = p.pass
	}
	return p
}

// pass prints the line of a pass that has ended.
func (p *progress) pass(s passes.Step, _ *ir.Module) error {
	fig := s.Figures
	fmt.Fprintf(p.w, "%-14s %6.1f ms  %5d nodes", s.Pass, float64(s.Stats.Time.Microseconds())/1000, fig.Nodes)
	if fig.Splits > 0 {
		fmt.Fprintf(p.w, "  %d splits  %d copies", fig.Splits, fig.Copies)
	}
	if fig.ArenaBytes > 0 {
		fmt.Fprintf(p.w, "  arenas %.1f MiB", float64(fig.ArenaBytes)/(1<<20))
	}
	fmt.Fprintln(p.w)
	return nil
}

// line prints the next action.
func (p *progress) line(what string) {
	if p.w != nil {
		fmt.Fprintln(p.w, what)
	}
}

// bytes advances the bar.
func (p *progress) bytes(done, total int64) {
	if p.w == nil {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(p.w), progressbar.OptionShowBytes(true),
			progressbar.OptionSetDescription("weights"), progressbar.OptionClearOnFinish())
	}
	p.bar.Set64(done)
}

func (p *progress) done() {
	if p.bar != nil {
		p.bar.Finish()
	}
}
