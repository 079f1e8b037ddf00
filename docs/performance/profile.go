package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

const (
	profilePrompt   = 512
	profileGenerate = 64
)

// takeProfile builds a row's program with a profile and adds up where its time goes. One
// look is enough: shares move little from round to round.
func (s *session) takeProfile(ctx context.Context, w *row) error {
	if !w.profile || s.results.Profiles[w.name] != nil {
		return nil
	}
	program := s.program(w, "profile")
	if err := s.build(ctx, w, program, "--profile"); err != nil {
		return err
	}
	defer os.Remove(program) // as large as the model
	trace := program + ".json"
	_, err := runQuietly(ctx, s.quiet, program, "bench", "-p", strconv.Itoa(profilePrompt), "-n", strconv.Itoa(profileGenerate), "-r", "1",
		"--threads", s.threads(w), "--profile", trace)
	if err != nil {
		return err
	}
	defer os.Remove(trace)
	data, err := os.ReadFile(trace)
	if err != nil {
		return err
	}
	list, err := readProfile(data)
	if err != nil {
		return fmt.Errorf("%s: %w", trace, err)
	}
	if s.results.Profiles == nil {
		s.results.Profiles = make(map[string][]slice)
	}
	s.results.Profiles[w.name] = list
	return s.results.save()
}

// event is one of a trace: what an emitted program's --profile writes.
type event struct {
	Name   string  `json:"name"` // function, op, node; or "barrier"
	Thread int     `json:"tid"`
	Dur    float64 `json:"dur"` // microseconds
}

// Before what counts, bench runs the prompt, and as many tokens as warmTokens of package runtime.
const (
	promptRounds = 2
	warmTokens   = 8
)

// readProfile adds up a trace by function and kind of op, the largest first. A wait belongs to
// the function whose op came before it on that thread. A loop's body counts for its function.
func readProfile(data []byte) ([]slice, error) {
	var events []event
	if err := json.Unmarshal(data, &events); err != nil {
		return nil, err
	}
	sums, totals := make(map[[2]string]float64), make(map[string]float64)
	last := make(map[int]string) // function, by thread
	for _, e := range events {
		words := strings.Fields(e.Name)
		kind := "wait"
		if len(words) > 1 {
			kind = words[1]
			last[e.Thread], _, _ = strings.Cut(words[0], ".")
		}
		if fn := last[e.Thread]; fn != "" {
			sums[[2]string{fn, kind}] += e.Dur
			totals[fn] += e.Dur
		}
	}
	var out []slice
	for key, us := range sums {
		out = append(out, slice{Func: key[0], Kind: key[1], Share: us / totals[key[0]], Micro: us / perToken(key[0])})
	}
	slices.SortFunc(out, func(a, b slice) int {
		return cmp.Or(cmp.Compare(a.Func, b.Func), -cmp.Compare(a.Share, b.Share), cmp.Compare(a.Kind, b.Kind))
	})
	return out, nil
}

// perToken is how many tokens a function has seen in a profile.
func perToken(fn string) float64 {
	if fn == "decode" {
		return profileGenerate + warmTokens
	}
	return profilePrompt * promptRounds
}
