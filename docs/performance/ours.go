package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// benchResult is what an emitted program's bench prints with --json. What it takes several of,
// runs in short turns.
type benchResult struct {
	Prefill      float64      `json:"prefill_tok_s"`
	Decode       float64      `json:"decode_tok_s"`
	PrefillShare float64      `json:"prefill_share"`
	DecodeShare  float64      `json:"decode_share"`
	Peak         float64      `json:"peak_gop_s"`
	Read         float64      `json:"read_gb_s"`
	Prompts      []benchedOne `json:"prompts"`
	Depths       []benchedOne `json:"depths"`
	Sequences    []benchedOne `json:"sequences"`
}

// benchedOne is one length of prompt, one depth or one number of sequences among several.
type benchedOne struct {
	N      int     `json:"n"`
	Tokens int     `json:"tokens"`
	Depth  int     `json:"depth"`
	Rate   float64 `json:"tok_s"`
	Share  float64 `json:"share"`
	Ratio  float64 `json:"ratio"` // to the first one's rate
}

// generate measures generated tokens in turns with reads of memory.
func (s *session) generate(ctx context.Context, w *row, m *measured) error {
	b, err := s.bench(ctx, w, m, w.repeats, "-p", "1", "-n", strconv.Itoa(w.generate))
	if err != nil {
		return err
	}
	name := generated(w.generate)
	m.Figures[name], m.Figures[shareOf(name)] = b.Decode, b.DecodeShare
	m.Figures[figRead] = b.Read
	return nil
}

// prefill measures prompts of all lengths of a row.
func (s *session) prefill(ctx context.Context, w *row, m *measured) error {
	b, err := s.bench(ctx, w, m, w.repeats, "-p", numbers(w.prompts), "-n", "1")
	if err != nil {
		return err
	}
	if len(w.prompts) == 1 {
		b.Prompts = []benchedOne{{Tokens: w.prompts[0], Rate: b.Prefill, Share: b.PrefillShare}}
	}
	for _, p := range b.Prompts {
		m.Figures[prompt(p.Tokens)], m.Figures[shareOf(prompt(p.Tokens))] = p.Rate, p.Share
	}
	m.Figures[figPeak] = b.Peak
	return nil
}

// ours measures what only programs of ours are asked for.
func (s *session) ours(ctx context.Context, w *row, m *measured) error {
	if err := s.plan(ctx, w, m); err != nil {
		return err
	}
	for _, part := range []struct {
		wanted bool
		run    func(context.Context, *row, *measured) error
	}{{w.long, s.long}, {w.disturbed, s.disturbed}, {w.start, s.start}, {w.sequences > 0, s.together}} {
		if !part.wanted {
			continue
		}
		if err := part.run(ctx, w, m); err != nil {
			return err
		}
	}
	return nil
}

// bench runs the emitted program's bench once.
func (s *session) bench(ctx context.Context, w *row, m *measured, repeats int, args ...string) (b benchResult, err error) {
	p, err := runQuietly(ctx, s.quiet, s.program(w), s.benchArgs(w, repeats, args)...)
	if err != nil {
		return b, err
	}
	m.note(p)
	return readBench(p)
}

func (s *session) benchArgs(w *row, repeats int, args []string) []string {
	return append([]string{"bench", "--json", "--threads", s.threads(w), "-r", strconv.Itoa(repeats)}, args...)
}

func readBench(p *process) (b benchResult, err error) {
	if err := json.Unmarshal(p.out, &b); err != nil {
		return b, fmt.Errorf("bench: %w: %s", err, p.out)
	}
	return b, nil
}

// long compares a prompt that fills the context with a usual one, and generation at the context's
// beginning with that at its end.
func (s *session) long(ctx context.Context, w *row, m *measured) error {
	b, err := s.bench(ctx, w, m, 1, "-p", numbers([]int{usualPrompt, longPrompt}), "-n", "1")
	if err != nil {
		return err
	}
	for _, p := range b.Prompts[min(1, len(b.Prompts)):] {
		m.Figures[prompt(p.Tokens)], m.Figures[ratioOf(prompt(p.Tokens), prompt(usualPrompt))] = p.Rate, p.Ratio
	}
	b, err = s.bench(ctx, w, m, deepRepeats, "-p", "1", "-d", numbers([]int{shallow, deep}), "-n", strconv.Itoa(deepTokens))
	if err != nil {
		return err
	}
	for i, d := range b.Depths {
		m.Figures[atDepth(d.Depth)] = d.Rate
		if i > 0 {
			m.Figures[ratioOf(atDepth(d.Depth), atDepth(shallow))] = d.Ratio
		}
	}
	return nil
}

// Of sequences that generate together: the prompt of each, what each generates, and how often.
const (
	sequencePrompt   = 16
	sequenceGenerate = 48
	sequenceRepeats  = 5
)

// together compares sequences that generate together with a single one.
func (s *session) together(ctx context.Context, w *row, m *measured) error {
	b, err := s.bench(ctx, w, m, sequenceRepeats, "-p", strconv.Itoa(sequencePrompt), "-n", strconv.Itoa(sequenceGenerate), "--sequences", strconv.Itoa(w.sequences))
	if err != nil {
		return err
	}
	for _, q := range b.Sequences {
		m.Figures[atOnce(q.N)] = q.Rate
		if q.N > 1 {
			m.Figures[ratioOf(atOnce(q.N), atOnce(1))] = q.Ratio
		}
	}
	return nil
}

// disturbed measures beside a process that never leaves the first processor, and without it.
// Without the command that pins it there is no such figure.
func (s *session) disturbed(ctx context.Context, w *row, m *measured) error {
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		return nil
	}
	args := []string{"-p", strconv.Itoa(usualPrompt), "-n", strconv.Itoa(w.generate)}
	alone, err := s.bench(ctx, w, m, 1, args...)
	if err != nil {
		return err
	}
	busy := exec.CommandContext(ctx, taskset, "-c", "0", "sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		return err
	}
	defer func() {
		busy.Process.Kill()
		busy.Wait()
	}()
	p, err := runOnce(ctx, s.program(w), s.benchArgs(w, 1, args)...)
	if err != nil {
		return err
	}
	b, err := readBench(p)
	if err != nil {
		return err
	}
	m.disturbed(generated(w.generate), b.Decode, alone.Decode)
	m.disturbed(prompt(usualPrompt), b.Prefill, alone.Prefill)
	return nil
}

// disturbed notes a figure beside a busy process.
func (m *measured) disturbed(figure string, beside, alone float64) {
	m.Figures[disturbed(figure)] = beside
	m.Figures[ratioOf(disturbed(figure), figure)] = beside / alone
}

// plan notes how many barriers a token has.
func (s *session) plan(ctx context.Context, w *row, m *measured) error {
	out, err := s.command(ctx, s.program(w), "plan", "--json")
	if err != nil {
		return err
	}
	var plan struct {
		Functions []struct {
			Name     string
			Barriers float64
		}
	}
	if err := json.Unmarshal([]byte(out), &plan); err != nil {
		return fmt.Errorf("plan --json: %w", err)
	}
	for _, f := range plan.Functions {
		if f.Name == "decode" {
			m.Figures[figSteps] = f.Barriers
		}
	}
	return nil
}

// startTurns is how often a program is started, in turns with bench.
const startTurns = 5

// start measures from the process's start to the first token of a prompt, with the weights
// in the page cache, where the runs before have left them; less what such a prompt takes in bench.
func (s *session) start(ctx context.Context, w *row, m *measured) error {
	tokens := w.prompts[0]
	ids := strings.TrimSuffix(strings.Repeat("1,", tokens), ",")
	var first, start []float64
	for range startTurns {
		p, err := runQuietly(ctx, s.quiet, s.program(w), "--tokens", ids, "-n", "1", "--json", "--ignore-eos", "--threads", s.threads(w))
		if err != nil {
			return err
		}
		m.note(p)
		b, err := s.bench(ctx, w, m, 1, "-p", strconv.Itoa(tokens), "-n", "1")
		if err != nil {
			return err
		}
		ms := p.first.Seconds() * 1000
		first, start = append(first, ms), append(start, ms-float64(tokens)/b.Prefill*1000)
	}
	m.Figures[figFirst], m.Figures[figStart] = spreadOf(first).median, spreadOf(start).median
	return nil
}
