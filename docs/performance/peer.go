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

// peersLong runs the long prompt in the first round alone, and notes how large graphs are.
func (s *session) peersLong(ctx context.Context, rows []*row, round int) error {
	for _, c := range s.contestants(rows) {
		if c.peer == nil || !c.row.peersLong || round > 1 {
			continue
		}
		m := measured{Row: c.row.name, Round: round, Who: c.who}
		err := s.once(m, func(m *measured) error {
			if err := s.graphNodes(ctx, *c.peer, c.row, m); err != nil {
				return err
			}
			return s.llamaBench(ctx, *c.peer, c.row, m, "-p", strconv.Itoa(longPrompt), "-n", "0")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// llamaBench runs llama-bench on a row.
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
