package diff

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/ggmlc/ggmlc/passes/pass"
)

// names are what the sides are called in texts.
var names = [2]string{"A", "B"}

// WriteText writes the difference for people: figures that differ, then decisions.
func (d *Difference) WriteText(w io.Writer) error {
	var b strings.Builder
	for i, s := range d.Sides {
		fmt.Fprintf(&b, "%s %s after %s, rules %s, targets %s%s\n", names[i], s.Name, s.After, s.Rules, strings.Join(s.Targets, ", "), optionsText(s))
		for _, n := range s.Notes {
			first, _, _ := strings.Cut(n, "\n")
			fmt.Fprintf(&b, "  note: %s\n", first)
		}
	}
	if d.Equal() {
		b.WriteString("no figure and no decision differs\n")
	}
	d.figuresText(&b)
	for _, c := range d.Changes {
		fmt.Fprintf(&b, "%s %s%s: %s %s -> %s%s\n", c.Where, c.Thing, timesText(c.Count), c.What, orNone(c.A), orNone(c.B), becauseText(c.Because))
	}
	for _, o := range d.Only {
		fmt.Fprintf(&b, "%s %s%s: only in %s\n", o.Where, o.Thing, timesText(o.Count), names[o.Side])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Equal reports whether no figure and no decision differs.
func (d *Difference) Equal() bool {
	for _, f := range d.Figures {
		if f.differs() {
			return false
		}
	}
	return len(d.Changes)+len(d.Only) == 0
}

// differs reports whether a figure is another one; sums of times may differ by rounding.
func (f Figure) differs() bool {
	return math.Abs(f.A-f.B) > 1e-9*math.Max(math.Abs(f.A), math.Abs(f.B))
}

func optionsText(s Side) string {
	if len(s.Options) == 0 {
		return ""
	}
	return ", --" + strings.Join(s.Options, " --")
}

// figuresText writes the figures that differ, below the entry point or the memory that they are of.
func (d *Difference) figuresText(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	where := ""
	for i, f := range d.Figures {
		reached := f.isBound() && d.Figures[i-1].A == f.A && d.Figures[i-1].B == f.B // in both plans
		if !f.differs() || reached {
			continue
		}
		if f.Where != where {
			where = f.Where
			fmt.Fprintf(t, "%s\tA\tB\t\n", where)
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", f.What, f.text(f.A), f.text(f.B), changeText(f.A, f.B))
	}
	t.Flush() // b returns no error
}

func (f Figure) text(x float64) string {
	switch {
	case f.Unit == unitBytes:
		return pass.BytesText(int64(x))
	case f.Unit == unitSeconds && x == 0:
		return "-"
	case f.Unit == unitSeconds:
		return pass.SecondsText(x)
	}
	return fmt.Sprintf("%.0f", x)
}

// changeText returns by how much a figure grows.
func changeText(a, b float64) string {
	if a == 0 || b == 0 {
		return ""
	}
	switch change := b/a - 1; {
	case b/a >= 10:
		return fmt.Sprintf("%.1f times", b/a)
	case change < 0:
		return fmt.Sprintf("%.1f %% less", -100*change)
	default:
		return fmt.Sprintf("%.1f %% more", 100*change)
	}
}

func timesText(n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" (%d)", n)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func becauseText(s string) string {
	if s == "" {
		return ""
	}
	return ", because " + s
}
