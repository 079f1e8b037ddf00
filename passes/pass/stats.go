package pass

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Stats are the statistics of the passes of one run, in order.
type Stats struct {
	Passes []*PassStats `json:"passes"`
}

// PassStats are the statistics of one pass. Allocations are those of the whole process during the pass.
type PassStats struct {
	Pass     string        `json:"pass"`
	Time     time.Duration `json:"ns"`
	Allocs   uint64        `json:"allocs"`
	Figures  Figures       `json:"after"`
	Counters []Counter     `json:"counters,omitempty"`
}

// Counter is a number with a name, PASS.THING.
type Counter struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// Figures describe a module in a few numbers.
type Figures struct {
	Nodes       int   `json:"nodes"`  // those of bodies once
	Splits      int   `json:"splits"` // those of bodies once
	Copies      int   `json:"copies"`
	BytesCopied int64 `json:"bytes_copied"` // at the symbols' upper bounds
	ArenaBytes  int64 `json:"arena_bytes"`  // 0 before plan
}

// Add appends statistics for one more pass.
func (s *Stats) Add(pass string) *PassStats {
	p := &PassStats{Pass: pass}
	s.Passes = append(s.Passes, p)
	return p
}

func (p *PassStats) count(name string, n int64) {
	prefix := len(p.Pass) + 1
	i := slices.IndexFunc(p.Counters, func(c Counter) bool { return c.Name[prefix:] == name })
	if i < 0 {
		p.Counters = append(p.Counters, Counter{Name: p.Pass + "." + name})
		i = len(p.Counters) - 1
	}
	p.Counters[i].Value += n
}

// Counter returns the sum of all counters of that full name.
func (s *Stats) Counter(name string) int64 {
	var sum int64
	for _, p := range s.Passes {
		for _, c := range p.Counters {
			if c.Name == name {
				sum += c.Value
			}
		}
	}
	return sum
}

// sorted returns the counters by name.
func (p *PassStats) sorted() []Counter {
	return slices.SortedFunc(slices.Values(p.Counters), func(a, b Counter) int { return cmp.Compare(a.Name, b.Name) })
}

// StatsFormats are the formats of Write.
var StatsFormats = []string{"table", "tsv", "json"}

// Write prints the statistics as a table for people, as tab-separated values (pass, name,
// value) or as one JSON document.
func (s *Stats) Write(w io.Writer, format string) error {
	switch format {
	case "table":
		return s.writeTable(w)
	case "tsv":
		return s.writeTSV(w)
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(s)
	}
	return fmt.Errorf("unknown format %q: the formats are %s", format, strings.Join(StatsFormats, ", "))
}

func (s *Stats) writeTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "pass\tms\tallocs\tnodes\tsplits\tcopies\tcounters")
	for _, p := range s.Passes {
		fmt.Fprintf(t, "%s\t%.2f\t%d\t%d\t%d\t%d\t%s\n", p.Pass, Milliseconds(p.Time), p.Allocs,
			p.Figures.Nodes, p.Figures.Splits, p.Figures.Copies, counterText(p.sorted(), p.Pass+"."))
	}
	return t.Flush()
}

// counterText lists counters. Those of nanoseconds and bytes have units; a negative time is that of nothing.
func counterText(cs []Counter, prefix string) string {
	items := make([]string, len(cs))
	for i, c := range cs {
		name, value := strings.TrimPrefix(c.Name, prefix), fmt.Sprint(c.Value)
		if rest, ok := strings.CutSuffix(name, "-ns"); ok {
			name, value = rest, "none"
			if c.Value >= 0 {
				value = SecondsText(float64(c.Value) / 1e9)
			}
		} else if name == "bytes" || strings.HasPrefix(name, "bytes.") || strings.HasSuffix(name, "-bytes") {
			value = BytesText(c.Value)
		}
		items[i] = name + " " + value
	}
	return strings.Join(items, ", ")
}

func (s *Stats) writeTSV(w io.Writer) error {
	var b strings.Builder
	b.WriteString("pass\tname\tvalue\n")
	for _, p := range s.Passes {
		fmt.Fprintf(&b, "%s\tms\t%.3f\n%s\tallocs\t%d\n%s\tnodes\t%d\n",
			p.Pass, Milliseconds(p.Time), p.Pass, p.Allocs, p.Pass, p.Figures.Nodes)
		for _, c := range p.sorted() {
			fmt.Fprintf(&b, "%s\t%s\t%d\n", p.Pass, c.Name, c.Value)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
