package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
		for _, w := range todo {
			if err := s.row(ctx, w, round); err != nil {
				return fmt.Errorf("row %s: %w", w.name, err)
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
		if !s.only.MatchString(w.name) {
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

// commit names the source that is measured; "+" says that it was changed since. The page and
// what this command writes do not count.
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

// row runs what the results lack of a row in a round.
func (s *session) row(ctx context.Context, w *row, round int) error {
	for _, c := range s.contestants(w) {
		if s.results.run(w.name, round, c.who) != nil {
			continue
		}
		begin := time.Now()
		m := measured{Row: w.name, Round: round, Who: c.who, Figures: make(map[string]float64)}
		if err := c.run(ctx, w, &m); err != nil {
			return err
		}
		log.Printf("round %d, %s, %s: %.0f s", round, w.name, c.who, time.Since(begin).Seconds())
		if err := s.results.add(m); err != nil {
			return err
		}
	}
	return nil
}

// contestant is a program that can run a row.
type contestant struct {
	who string
	run func(ctx context.Context, w *row, m *measured) error
}

func (s *session) contestants(w *row) []contestant {
	list := []contestant{{ours, s.ours}}
	if w.peersOf != "" || w.alone {
		return list
	}
	for _, p := range []peer{{ik, s.ik, []string{"-rtr", "1", "-fa", "1"}}, {llama, s.llama, nil}} {
		if p.path != "" {
			list = append(list, contestant{p.name, func(ctx context.Context, w *row, m *measured) error { return s.peer(ctx, p, w, m) }})
		}
	}
	return list
}

// note keeps the largest share that others had of the processors during a run.
func (m *measured) note(p *process) { m.Figures[figOther] = max(m.Figures[figOther], p.other) }
