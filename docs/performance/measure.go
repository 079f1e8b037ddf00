package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// session is one use of the command.
type session struct {
	*options
	results *results
	only    *regexp.Regexp
	ggmlc   string // the compiler that was built
}

// measure runs what the results lack: rounds over all rows, then profiles.
func (s *session) measure(ctx context.Context) error {
	todo, err := s.prepare(ctx)
	if err != nil {
		return err
	}
	for round := 1; round <= s.rounds; round++ {
		for _, g := range groups(todo) {
			if err := s.group(ctx, g, round); err != nil {
				return err
			}
		}
	}
	if s.profiles {
		for _, w := range todo {
			if err := s.takeProfile(ctx, w); err != nil {
				return fmt.Errorf("profile of row %s: %w", w.name, err)
			}
		}
	}
	s.results.Date = time.Now().UTC().Format("2006-01-02 15:04 UTC")
	return s.results.save()
}

// prepare builds the compiler and all programs, and returns the rows whose models are there.
func (s *session) prepare(ctx context.Context) ([]*row, error) {
	commit, err := s.commit(ctx)
	if err != nil {
		return nil, err
	}
	r := s.results
	if len(r.Runs) > 0 && (r.Commit != commit || r.Threads != s.options.threads) {
		return nil, fmt.Errorf("%s is of commit %s with %d threads, this is %s with %d: -fresh begins again, -page draws what is there",
			r.path, r.Commit, r.Threads, commit, s.options.threads)
	}
	r.Commit, r.Threads, r.Machine = commit, s.options.threads, machineName()
	if err := os.MkdirAll(s.work, 0o777); err != nil {
		return nil, err
	}
	s.ggmlc = filepath.Join(s.work, "ggmlc")
	if _, err := s.command(ctx, "go", "build", "-C", s.source, "-o", s.ggmlc, "./cmd/ggmlc"); err != nil {
		return nil, err
	}
	var todo []*row
	for i := range rows {
		w := &rows[i]
		if !s.only.MatchString(w.name) || w.fileOfResults() != s.results.name() {
			continue
		}
		if _, err := os.Stat(s.model(w)); err != nil {
			log.Printf("row %s is left out: %v", w.name, err)
			continue
		}
		if err := s.build(ctx, w, s.program(w)); err != nil {
			return nil, err
		}
		todo = append(todo, w)
	}
	return todo, nil
}

// commit names the source that is measured; "+" marks a source that was changed since. The page and what this command
// writes do not count.
func (s *session) commit(ctx context.Context) (string, error) {
	id, err := s.command(ctx, "git", "-C", s.source, "rev-parse", "--short=10", "HEAD")
	if err != nil {
		return "", err
	}
	changed, err := s.command(ctx, "git", "-C", s.source, "status", "--porcelain", "--", "*.go", "*.s", ":!docs")
	if err != nil {
		return "", err
	}
	commit := strings.TrimSpace(id)
	if changed != "" {
		commit += "+"
	}
	return commit, nil
}

// command runs a tool and returns what it prints.
func (s *session) command(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, errs.String())
	}
	return string(out), nil
}

func (s *session) model(w *row) string {
	if w.file == "" {
		return s.small
	}
	if s.models == "" {
		return filepath.Join("(no -models)", w.file)
	}
	return filepath.Join(s.models, w.file)
}

func (s *session) threads(w *row) string {
	if w.threads > 0 {
		return fmt.Sprint(w.threads)
	}
	return fmt.Sprint(s.options.threads)
}

// program is where a row's program is built, by commit, so that a later run finds it.
func (s *session) program(w *row, more ...string) string {
	name := strings.Map(func(r rune) rune {
		if r == ' ' || r == ',' {
			return '-'
		}
		return r
	}, strings.Join(append([]string{w.name, s.results.Commit}, more...), "-"))
	return filepath.Join(s.work, name)
}

// build compiles a row's model, unless that commit's program is there. A tree with changes has
// no such name.
func (s *session) build(ctx context.Context, w *row, program string, more ...string) error {
	if _, err := os.Stat(program); err == nil && !strings.HasSuffix(s.results.Commit, "+") {
		return nil
	}
	log.Printf("building %s", program)
	args := append([]string{"build", s.model(w), "-o", program}, w.flags...)
	_, err := s.command(ctx, s.ggmlc, append(args, more...)...)
	return err
}

// groups puts rows beside the row whose peers they share.
func groups(todo []*row) (list [][]*row) {
	at := make(map[string]int)
	for _, w := range todo {
		if i, ok := at[w.peersOf]; ok && w.peersOf != "" {
			list[i] = append(list[i], w)
			continue
		}
		at[w.name] = len(list)
		list = append(list, []*row{w})
	}
	return list
}

// group runs what the results lack of a group of rows in a round: turns of all programs, then what
// only one program compares.
func (s *session) group(ctx context.Context, rows []*row, round int) error {
	for turn := 1; turn <= s.turns+1; turn++ {
		run := s.generation
		if turn > s.turns {
			run = s.prompts
		}
		for _, c := range s.contestants(rows) {
			if c.row.sequences > 0 {
				continue
			}
			m := measured{Row: c.row.name, Round: round, Turn: turn, Who: c.who}
			if err := s.once(m, func(m *measured) error { return run(ctx, c, m) }); err != nil {
				return err
			}
		}
	}
	for _, w := range rows {
		m := measured{Row: w.name, Round: round, Who: ours}
		if err := s.once(m, func(m *measured) error { return s.ours(ctx, w, m) }); err != nil {
			return err
		}
	}
	return s.peersLong(ctx, rows, round)
}

// once runs what the results lack.
func (s *session) once(m measured, run func(m *measured) error) error {
	if s.results.run(m.Row, m.Round, m.Turn, m.Who) != nil {
		return nil
	}
	begin := time.Now()
	m.Figures = make(map[string]float64)
	if err := run(&m); err != nil {
		return fmt.Errorf("row %s: %w", m.Row, err)
	}
	log.Printf("round %d, turn %d, %s, %s: %.0f s", m.Round, m.Turn, m.Row, m.Who, time.Since(begin).Seconds())
	return s.results.add(m)
}

// contestant is a program that can run a row.
type contestant struct {
	row  *row
	who  string
	peer *peer // nil: ours
}

// contestants of a group are its programs of ours, then the peers of its first row.
func (s *session) contestants(rows []*row) (list []contestant) {
	for _, w := range rows {
		list = append(list, contestant{w, ours, nil})
	}
	if first := rows[0]; first.peersOf == "" && !first.alone {
		for _, p := range s.peers(first) {
			list = append(list, contestant{first, p.name, &p})
		}
	}
	return list
}

// peers returns the peers that the command line names for a row.
func (s *session) peers(w *row) (list []peer) {
	all := []peer{{ik, s.ik, []string{"-rtr", "1", "-fa", "1"}}, {llama, s.llama, nil}}
	if w.cpu != "" {
		all = []peer{{ik, map[string]string{"avx2": s.ikAVX2, "avxvnni": s.ikAVXVNNI}[w.cpu], all[0].flags}}
	}
	for _, p := range all {
		if p.path != "" {
			list = append(list, p)
		}
	}
	return list
}

// generation is a turn of generated tokens.
func (s *session) generation(ctx context.Context, c contestant, m *measured) error {
	if c.peer != nil {
		return s.llamaBench(ctx, *c.peer, c.row, m, "-p", "0", "-n", strconv.Itoa(c.row.generate))
	}
	return s.generate(ctx, c.row, m)
}

// prompts is a turn of prompts of all lengths.
func (s *session) prompts(ctx context.Context, c contestant, m *measured) error {
	if c.peer != nil {
		return s.llamaBench(ctx, *c.peer, c.row, m, "-p", numbers(c.row.prompts), "-n", "0")
	}
	return s.prefill(ctx, c.row, m)
}

// numbers are written with commas between them.
func numbers(list []int) string {
	words := make([]string, len(list))
	for i, n := range list {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

// note keeps the largest share that others had of the processors during a run.
func (m *measured) note(p *process) { m.Figures[figOther] = max(m.Figures[figOther], p.other) }
