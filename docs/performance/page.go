package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The page has a generated part for each file of results, between such lines; the text around them is written by hand.
const endMark = "<!-- End of what docs/performance writes. -->"

func beginMark(results string) string {
	return fmt.Sprintf("<!-- Written by docs/performance from %s: do not edit. -->", results)
}

// mainResults is the file of results from which the picture is drawn.
const mainResults = "results.json"

// writePage writes the part of docs/performance.md that the results give, and the picture.
func writePage(docs string, r *results) error {
	path := filepath.Join(docs, "performance.md")
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := insert(string(old), beginMark(r.name()), pageOf(r))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil || r.name() != mainResults {
		return err
	}
	return drawPage(filepath.Join(docs, "performance"), r)
}

// insert replaces the text after a mark, up to the end mark; a page without the mark gets both at its end.
func insert(page, mark, generated string) (string, error) {
	generated = mark + "\n\n" + generated + "\n" + endMark
	before, rest, found := strings.Cut(page, mark)
	if !found {
		return strings.TrimSpace(page+"\n\n"+generated) + "\n", nil
	}
	_, after, found := strings.Cut(rest, endMark)
	if !found {
		return "", fmt.Errorf("no line %q follows the generated part", endMark)
	}
	return before + generated + after, nil
}

// pageOf is the generated part.
func pageOf(r *results) string {
	var b strings.Builder
	b.WriteString(conditions(r))
	for _, figure := range []string{"tg64", "pp128", "pp512"} {
		b.WriteString(rates(r, figure))
	}
	b.WriteString(sequenceTable(r))
	b.WriteString(goalTable(r))
	b.WriteString(barrierLine(r))
	b.WriteString(profileTable(r))
	if r.name() == mainResults {
		b.WriteString("\n![roofline](performance/roofline.svg)\n")
	}
	return b.String()
}

// conditions states what was measured, where, and how much else ran.
func conditions(r *results) string {
	var b strings.Builder
	rounds, turns := r.last()
	fmt.Fprintf(&b, "Measured on %s at commit %s, rounds: %d, turns in each: %d; threads, where a row does not say otherwise: %d.\n\n", r.Date, r.Commit, rounds, max(turns, 1), r.Threads)
	fmt.Fprintf(&b, "- Machine: %s.\n", r.Machine)
	for _, name := range []string{ik, llama} {
		if what := r.Peers[name]; what != "" {
			fmt.Fprintf(&b, "- %s: `llama-bench` of commit %s.\n", name, strings.Replace(what, " ", " with ", 1))
		}
	}
	fmt.Fprintf(&b, "- Limits in the same runs: read %s GB/s", show(spreadOf(allValues(r, figRead, nil))))
	for _, a := range arithmetics {
		if s := spreadOf(allValues(r, figPeak, a.measuredBy)); s.n > 0 {
			fmt.Fprintf(&b, "; %s GOP/s of %s", show(s), a.name)
		}
	}
	b.WriteString(".\n")
	most := 0.0
	for _, m := range r.Runs {
		most = max(most, m.Figures[figOther])
	}
	fmt.Fprintf(&b, "- Others used at most %.0f %% of the processors during any run.\n\n", most*100)
	b.WriteString("Figures are medians (lowest to highest). Ratios are taken within a turn.\n")
	return b.String()
}

// arithmetics are the peaks that rows are compared with. Rows on another number of threads than
// most count for none of them.
var arithmetics = []struct {
	name       string
	measuredBy func(*row) bool
}{
	{"int8", func(w *row) bool { return w.bytesPerWeight < 2 && w.cpu == "" }},
	{"bf16", func(w *row) bool { return strings.Contains(w.name, "BF16") }},
	{"f32", func(w *row) bool { return w.name == "F16" }},
	{"int8 on AVX2", func(w *row) bool { return w.cpu != "" && !w.alone }},
}

// allValues collects a figure of ours over the rows of the large model that a filter takes.
func allValues(r *results, figure string, take func(*row) bool) (v []float64) {
	for i := range rows {
		if w := &rows[i]; w.threads == 0 && (take == nil || take(w)) {
			v = append(v, r.values(w.name, ours, figure)...)
		}
	}
	return v
}

// show writes a median with its spread, and "-" where nothing was measured.
func show(s spread) string {
	switch s.n {
	case 0:
		return "-"
	case 1:
		return number(s.median)
	}
	return fmt.Sprintf("%s (%s to %s)", number(s.median), number(s.least), number(s.most))
}

// number has about three digits.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

var titles = map[string]string{
	"tg64": "Generation: 64 tokens (tg64), tokens/s", "pp128": "Prompts of 128 tokens (pp128), tokens/s", "pp512": "Prompts of 512 tokens (pp512), tokens/s",
}

// rates is the table of one figure: ours, its share of the limit, each peer and the ratio.
func rates(r *results, figure string) string {
	if !slices.ContainsFunc(rows, func(w row) bool { return len(r.values(w.name, ours, figure)) > 0 }) {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s\n\n| | ggmlc | share of the limit | %s | ggmlc to it | %s | ggmlc to it |\n|---|---|---|---|---|---|---|\n", titles[figure], ik, llama)
	for _, w := range rows {
		v := r.values(w.name, ours, figure)
		if len(v) == 0 {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s", w.name, show(spreadOf(v)), show(spreadOf(shares(r, &w, figure))))
		for _, p := range []string{ik, llama} {
			fmt.Fprintf(&b, " | %s | %s", show(spreadOf(r.values(w.name, p, figure))), show(spreadOf(r.ratios(w.name, figure, p))))
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// sequenceTable has the rates of one sequence and of several at once.
func sequenceTable(r *results) string {
	var lines strings.Builder
	for _, w := range rows {
		if v := r.values(w.name, ours, atOnce(w.sequences)); w.sequences > 0 && len(v) > 0 {
			fmt.Fprintf(&lines, "| %s | %s | %d: %s | %s |\n", w.name, show(spreadOf(r.values(w.name, ours, atOnce(1)))), w.sequences,
				show(spreadOf(v)), show(spreadOf(r.ratios(w.name, atOnce(w.sequences), atOnce(1)))))
		}
	}
	if lines.Len() == 0 {
		return ""
	}
	return "\n### Sequences that generate together, tokens/s\n\n| | one | all together | ratio |\n|---|---|---|---|\n" + lines.String()
}

// shares of a limit are those of models that do not stay in a cache.
func shares(r *results, w *row, figure string) []float64 {
	if w.file == "" {
		return nil
	}
	return r.values(w.name, ours, shareOf(figure))
}

// goalTable compares goals with results.
func goalTable(r *results) string {
	var b strings.Builder
	b.WriteString("\n### Goals\n\n| | goal | measured | |\n|---|---|---|---|\n")
	for _, g := range goals {
		for _, name := range g.rows {
			s := spreadOf(r.ratios(name, g.figure, g.against))
			if s.n == 0 {
				continue
			}
			fmt.Fprintf(&b, "| %s, %s | %s | %s | %s |\n", name, figureName(g.figure), g.text(), show(s), g.verdict(s))
		}
	}
	return b.String()
}

func figureName(figure string) string {
	if figure == figStart {
		return "start to first token, less the prompt's time, ms"
	}
	return figure
}

// text is the goal as the table shows it.
func (g *goal) text() string {
	if g.least == 0 {
		return fmt.Sprintf("at most %s", number(g.most))
	}
	to := map[string]string{better: "of the better peer", limit: "of the limit"}[g.against]
	if to == "" {
		to = "of " + g.against
	}
	return fmt.Sprintf("%s %s", number(g.least), to)
}

// verdict compares the median.
func (g *goal) verdict(s spread) string {
	if g.least > 0 && s.median >= g.least || g.least == 0 && s.median <= g.most {
		return "met"
	}
	return "**not met**"
}

// barrierLine compares the number of barriers of a token.
func barrierLine(r *results) string {
	steps := r.values("Q4_0", ours, figSteps)
	if len(steps) == 0 {
		return ""
	}
	text := fmt.Sprintf("\nA generated token of the 1.1 B model has %.0f barriers", steps[0])
	var nodes []string
	for _, p := range []string{ik, llama} {
		if v := r.values("Q4_0", p, figNodes); len(v) > 0 {
			nodes = append(nodes, fmt.Sprintf("%.0f (%s)", v[0], p))
		}
	}
	if len(nodes) > 0 {
		text += "; ggml's executor has one after each node of its graph: " + strings.Join(nodes, ", ")
	}
	return text + ".\n"
}

// profileTable lists the kinds of op that take at least one percent of the time.
func profileTable(r *results) string {
	if len(r.Profiles) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n### Where the time goes\n\nA prompt of %d tokens and %d generated ones; shares of all threads' time, from 1 %% on; `wait` is at barriers.\n\n| | |\n|---|---|\n",
		profilePrompt, profileGenerate)
	for _, w := range rows {
		for _, fn := range []string{"prefill", "decode"} {
			if list := kinds(r.Profiles[w.name], fn); len(list) > 0 {
				fmt.Fprintf(&b, "| %s, %s | %s |\n", w.name, fn, strings.Join(list, ", "))
			}
		}
	}
	return b.String()
}

// kinds are the parts of a profile from one percent on, the largest first.
func kinds(profile []slice, fn string) (list []string) {
	for _, s := range profile {
		if s.Func == fn && s.Share >= 0.01 {
			list = append(list, fmt.Sprintf("%s %.1f %%", s.Kind, s.Share*100))
		}
	}
	return list
}
