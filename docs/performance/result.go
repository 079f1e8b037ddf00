package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// results are results.json: all that was measured, and with what.
type results struct {
	path string

	Commit  string            `json:"commit"` // of ggmlc
	Date    string            `json:"date"`   // when the last run ended
	Machine string            `json:"machine"`
	Threads int               `json:"threads"`
	Peers   map[string]string `json:"peers"` // name to commit and flags
	Runs    []measured        `json:"runs"`

	Profiles map[string][]slice `json:"profiles,omitempty"` // by row
}

// measured is what one program did in one round of one row.
type measured struct {
	Row     string             `json:"row"`
	Round   int                `json:"round"` // from 1
	Who     string             `json:"who"`
	Figures map[string]float64 `json:"figures"`
}

// slice is what one kind of op takes of a step, on all threads together.
type slice struct {
	Func  string  `json:"func"` // prefill or decode
	Kind  string  `json:"kind"` // of op; "wait" at barriers
	Share float64 `json:"share"`
	Micro float64 `json:"us_per_token"`
}

// openResults reads what an earlier run has measured.
func openResults(path string, fresh bool) (*results, error) {
	r := &results{path: path}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || fresh {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s: %w: -fresh measures everything again", path, err)
	}
	return r, nil
}

// save writes all, complete or not at all.
func (r *results) save() error {
	data, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(r.path), "results-*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), r.path)
}

// run returns what was measured, or nil.
func (r *results) run(row string, round int, who string) *measured {
	for i := range r.Runs {
		if m := &r.Runs[i]; m.Row == row && m.Round == round && m.Who == who {
			return m
		}
	}
	return nil
}

// add notes a run and saves all.
func (r *results) add(m measured) error {
	r.Runs = append(r.Runs, m)
	return r.save()
}

// rounds is the number of the last round.
func (r *results) rounds() int {
	last := 0
	for _, m := range r.Runs {
		last = max(last, m.Round)
	}
	return last
}

// values returns a figure of each round that has it.
func (r *results) values(row, who, figure string) (v []float64) {
	for round := 1; round <= r.rounds(); round++ {
		if x, ok := r.value(row, round, who, figure); ok {
			v = append(v, x)
		}
	}
	return v
}

// value returns a figure; a row may have its peers' from another row.
func (r *results) value(name string, round int, who, figure string) (float64, bool) {
	if w := rowNamed(name); w != nil && w.peersOf != "" && who != ours {
		name = w.peersOf
	}
	m := r.run(name, round, who)
	if m == nil {
		return 0, false
	}
	v, ok := m.Figures[figure]
	return v, ok
}

// ratios returns a figure of ours against something of the same round, for each round that
// has both.
func (r *results) ratios(row, figure, against string) (v []float64) {
	for round := 1; round <= r.rounds(); round++ {
		of, ok1 := r.value(row, round, ours, figure)
		to, ok2 := r.reference(row, round, figure, against)
		if ok1 && ok2 {
			v = append(v, of/to)
		}
	}
	return v
}

// reference is what a figure is divided by.
func (r *results) reference(row string, round int, figure, against string) (float64, bool) {
	switch against {
	case "":
		return 1, true
	case ik, llama:
		return r.value(row, round, against, figure)
	case better:
		a, ok1 := r.value(row, round, ik, figure)
		b, ok2 := r.value(row, round, llama, figure)
		return max(a, b), ok1 || ok2
	case limit:
		of, ok1 := r.value(row, round, ours, figure)
		share, ok2 := r.value(row, round, ours, shareOf(figure))
		return of / share, ok1 && ok2 && share > 0
	}
	return r.value(row, round, ours, against)
}

// shareOf names the figure that says what share of the machine's limit a figure is.
func shareOf(figure string) string { return figure + " share" }

// spread is a median and how far rounds lie from it.
type spread struct {
	median, least, most float64
	n                   int
}

func spreadOf(v []float64) spread {
	if len(v) == 0 {
		return spread{}
	}
	v = slices.Sorted(slices.Values(v))
	return spread{(v[(len(v)-1)/2] + v[len(v)/2]) / 2, v[0], v[len(v)-1], len(v)}
}
