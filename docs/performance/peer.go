package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// peer is another project's llama-bench.
type peer struct {
	name, path string
	flags      []string
}

// llamaBench is one test in what llama-bench prints with -o json.
type llamaBench struct {
	Commit   string  `json:"build_commit"`
	Prompt   int     `json:"n_prompt"`
	Generate int     `json:"n_gen"`
	Rate     float64 `json:"avg_ts"`
}

// peer runs llama-bench on a row; the long prompt in the first round alone.
func (s *session) peer(ctx context.Context, p peer, w *row, m *measured) error {
	var prompts []string
	for _, tokens := range w.prompts {
		prompts = append(prompts, strconv.Itoa(tokens))
	}
	if err := s.llamaBench(ctx, p, w, m, "-p", strings.Join(prompts, ","), "-n", strconv.Itoa(w.generate)); err != nil {
		return err
	}
	if !w.peersLong || m.Round > 1 {
		return nil
	}
	if err := s.graphNodes(ctx, p, w, m); err != nil {
		return err
	}
	return s.llamaBench(ctx, p, w, m, "-p", strconv.Itoa(longPrompt), "-n", "0")
}

func (s *session) llamaBench(ctx context.Context, p peer, w *row, m *measured, args ...string) error {
	args = append(append([]string{"-m", s.model(w), "-t", s.threads(w), "-r", strconv.Itoa(w.repeats), "-o", "json"}, p.flags...), args...)
	done, err := runQuietly(ctx, s.quiet, p.path, args...)
	if err != nil {
		return err
	}
	m.note(done)
	var tests []llamaBench
	if err := json.Unmarshal(done.out, &tests); err != nil {
		return fmt.Errorf("%s: %w: %s", p.path, err, lastBytes(done.out, 500))
	}
	for _, t := range tests {
		s.results.met(p, t.Commit)
		if t.Prompt > 0 {
			m.Figures[prompt(t.Prompt)] = t.Rate
		} else {
			m.Figures[generated(t.Generate)] = t.Rate
		}
	}
	return nil
}

// met notes which build of a peer was measured.
func (r *results) met(p peer, commit string) {
	if r.Peers == nil {
		r.Peers = make(map[string]string)
	}
	r.Peers[p.name] = strings.Join(append([]string{commit}, p.flags...), " ")
}

var graphNodes = regexp.MustCompile(`graph nodes\s*=\s*(\d+)`)

// graphNodes notes how many nodes a peer's graph has, as it logs.
func (s *session) graphNodes(ctx context.Context, p peer, w *row, m *measured) error {
	args := append([]string{"-m", s.model(w), "-t", s.threads(w), "-p", "0", "-n", "1", "-r", "1", "-v"}, p.flags...)
	done, err := runOnce(ctx, p.path, args...)
	if err != nil {
		return err
	}
	if found := graphNodes.FindSubmatch(done.errs); found != nil {
		m.Figures[figNodes], err = strconv.ParseFloat(string(found[1]), 64)
	}
	return err
}
