package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// benchResult is what an emitted program's bench prints with --json.
type benchResult struct {
	Prefill      float64 `json:"prefill_tok_s"`
	Decode       float64 `json:"decode_tok_s"`
	PrefillShare float64 `json:"prefill_share"`
	DecodeShare  float64 `json:"decode_share"`
	Peak         float64 `json:"peak_gop_s"`
	Read         float64 `json:"read_gb_s"`
}

// ours measures an emitted program: a process for each length of prompt, the first of which
// also generates.
func (s *session) ours(ctx context.Context, w *row, m *measured) error {
	for i, tokens := range w.prompts {
		generate := 1
		if i == 0 {
			generate = w.generate
		}
		b, err := s.bench(ctx, w, m, "-p", strconv.Itoa(tokens), "-n", strconv.Itoa(generate))
		if err != nil {
			return err
		}
		name := prompt(tokens)
		m.Figures[name], m.Figures[shareOf(name)] = b.Prefill, b.PrefillShare
		if i == 0 {
			name := generated(generate)
			m.Figures[name], m.Figures[shareOf(name)] = b.Decode, b.DecodeShare
			m.Figures[figPeak], m.Figures[figRead] = b.Peak, b.Read
		}
	}
	if w.long {
		if err := s.long(ctx, w, m); err != nil {
			return err
		}
	}
	if w.disturbed {
		if err := s.disturbed(ctx, w, m); err != nil {
			return err
		}
	}
	if err := s.plan(ctx, w, m); err != nil || !w.start {
		return err
	}
	return s.start(ctx, w, m)
}

// Names of figures, those of llama-bench.
func prompt(tokens int) string    { return fmt.Sprintf("pp%d", tokens) }
func generated(tokens int) string { return fmt.Sprintf("tg%d", tokens) }
func behind(positions int) string { return fmt.Sprintf("tg at %d", positions) }

// bench runs the emitted program's bench once.
func (s *session) bench(ctx context.Context, w *row, m *measured, args ...string) (b benchResult, err error) {
	args = append([]string{"bench", "--json", "--threads", s.threads(w), "-r", strconv.Itoa(w.repeats)}, args...)
	p, err := runQuietly(ctx, s.quiet, s.program(w), args...)
	if err != nil {
		return b, err
	}
	m.note(p)
	if err := json.Unmarshal(p.out, &b); err != nil {
		return b, fmt.Errorf("bench: %w: %s", err, p.out)
	}
	return b, nil
}

// long measures a prompt that fills the context, and generation at its beginning and its end.
func (s *session) long(ctx context.Context, w *row, m *measured) error {
	b, err := s.bench(ctx, w, m, "-p", strconv.Itoa(longPrompt), "-n", "1")
	if err != nil {
		return err
	}
	m.Figures[prompt(longPrompt)] = b.Prefill
	// In turns, of which the fastest counts: memory is fast or slow for seconds, and the two
	// would not meet the same.
	for range deepTurns {
		for _, depth := range []int{shallow, deep} {
			b, err := s.bench(ctx, w, m, "-d", strconv.Itoa(depth), "-p", strconv.Itoa(shallow), "-n", strconv.Itoa(deepTokens))
			if err != nil {
				return err
			}
			m.Figures[behind(depth)] = max(m.Figures[behind(depth)], b.Decode)
		}
	}
	return nil
}

// disturbed measures beside a process that never leaves the first processor. Without the
// command that pins it there is no such figure.
func (s *session) disturbed(ctx context.Context, w *row, m *measured) error {
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		return nil
	}
	busy := exec.CommandContext(ctx, taskset, "-c", "0", "sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		return err
	}
	defer func() {
		busy.Process.Kill()
		busy.Wait()
	}()
	tokens := w.prompts[len(w.prompts)-1]
	p, err := runOnce(ctx, s.program(w), "bench", "--json", "--threads", s.threads(w), "-r", "1", "-p", strconv.Itoa(tokens), "-n", strconv.Itoa(w.generate))
	if err != nil {
		return err
	}
	var b benchResult
	if err := json.Unmarshal(p.out, &b); err != nil {
		return fmt.Errorf("bench: %w: %s", err, p.out)
	}
	m.Figures[disturbed(generated(w.generate))], m.Figures[disturbed(prompt(tokens))] = b.Decode, b.Prefill
	return nil
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

// start measures from the process's start to the first token of a prompt, with the weights
// in the page cache, where the runs before have left them.
func (s *session) start(ctx context.Context, w *row, m *measured) error {
	tokens := w.prompts[0]
	ids := strings.TrimSuffix(strings.Repeat("1,", tokens), ",")
	var wall []float64
	for range 3 {
		p, err := runQuietly(ctx, s.quiet, s.program(w), "--tokens", ids, "-n", "1", "--json", "--ignore-eos", "--threads", s.threads(w))
		if err != nil {
			return err
		}
		m.note(p)
		wall = append(wall, p.first.Seconds()*1000)
	}
	first := spreadOf(wall).median
	m.Figures[figFirst] = first
	m.Figures[figStart] = first - float64(tokens)/m.Figures[prompt(tokens)]*1000
	return nil
}
