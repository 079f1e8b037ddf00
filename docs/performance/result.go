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

// results are results.json: all measurements, with the commits and the machine.
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

// measured is what one program did in one turn of one row.
type measured struct {
	Row     string             `json:"row"`
	Round   int                `json:"round"`          // from 1
	Turn    int                `json:"turn,omitempty"` // from 1; 0: what is compared with nothing else that runs in the round
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

// newResults returns results without figures, to be saved at path.
func newResults(path string) *results { return &results{path: path} }

// name is the file's name, which the page has beside what the results give.
func (r *results) name() string { return filepath.Base(r.path) }

// readResults reads the figures of an earlier run; a file that does not exist has none.
func readResults(path string) (*results, error) {
	r := newResults(path)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
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
func (r *results) run(row string, round, turn int, who string) *measured {
	for i := range r.Runs {
		if m := &r.Runs[i]; m.Row == row && m.Round == round && m.Turn == turn && m.Who == who {
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

// last returns the numbers of the last round and of its last turn.
func (r *results) last() (rounds, turns int) {
	for _, m := range r.Runs {
		rounds, turns = max(rounds, m.Round), max(turns, m.Turn)
	}
	return rounds, turns
}

// values returns a figure of each turn that has it.
func (r *results) values(row, who, figure string) (v []float64) {
	r.each(func(round, turn int) {
		if x, ok := r.value(row, round, turn, who, figure); ok {
			v = append(v, x)
		}
	})
	return v
}

// each calls f for all turns.
func (r *results) each(f func(round, turn int)) {
	rounds, turns := r.last()
	for round := 1; round <= rounds; round++ {
		for turn := range turns + 1 {
			f(round, turn)
		}
	}
}

// value returns a figure; a row may have its peers' from another row.
func (r *results) value(name string, round, turn int, who, figure string) (float64, bool) {
	if w := rowNamed(name); w != nil && w.peersOf != "" && who != ours {
		name = w.peersOf
	}
	m := r.run(name, round, turn, who)
	if m == nil {
		return 0, false
	}
	v, ok := m.Figures[figure]
	return v, ok
}

// ratios returns a figure of ours against something of the same turn, for each turn that has
// both, or the ratio itself where a program has taken it.
func (r *results) ratios(row, figure, against string) (v []float64) {
	r.each(func(round, turn int) {
		if x, ok := r.value(row, round, turn, ours, ratioOf(figure, against)); ok {
			v = append(v, x)
			return
		}
		of, ok1 := r.value(row, round, turn, ours, figure)
		to, ok2 := r.reference(row, round, turn, figure, against)
		if ok1 && ok2 {
			v = append(v, of/to)
		}
	})
	return v
}

// reference is what a figure is divided by.
func (r *results) reference(row string, round, turn int, figure, against string) (float64, bool) {
	switch against {
	case "":
		return 1, true
	case ik, llama:
		return r.value(row, round, turn, against, figure)
	case better:
		a, ok1 := r.value(row, round, turn, ik, figure)
		b, ok2 := r.value(row, round, turn, llama, figure)
		return max(a, b), ok1 || ok2
	case limit:
		of, ok1 := r.value(row, round, turn, ours, figure)
		share, ok2 := r.value(row, round, turn, ours, shareOf(figure))
		return of / share, ok1 && ok2 && share > 0
	}
	return r.value(row, round, turn, ours, against)
}

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
