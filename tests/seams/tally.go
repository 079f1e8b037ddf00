package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// tally counts the outcomes of tries.
type tally struct {
	mu     sync.Mutex
	began  time.Time
	byKind map[string]*counts
	runs   int
	finds  []string
	looks  map[string]int // number of similar finds, by what they have in common
}

// counts holds the outcomes of one kind of try.
type counts struct {
	refused [4]int // by status
	built   int
	finds   int
}

func newTally() *tally {
	return &tally{began: time.Now(), byKind: make(map[string]*counts), looks: make(map[string]int)}
}

// of returns the counts of a try's kind. t.mu must be held.
func (t *tally) of(x *try) *counts {
	if t.byKind[x.kind] == nil {
		t.byKind[x.kind] = new(counts)
	}
	return t.byKind[x.kind]
}

func (t *tally) refused(x *try, status int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(x).refused[status]++
}

func (t *tally) built(x *try) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(x).built++
}

func (t *tally) run() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs++
}

// found counts a find and returns the number of similar ones. Finds of different kinds of tries are not similar.
func (t *tally) found(x *try, f find) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(x).finds++
	t.finds = append(t.finds, fmt.Sprintf("%d %s %s: %s", x.seed, x.kind, x.subject.name, f.class))
	look := x.kind + ": " + f.looks()
	t.looks[look]++
	return t.looks[look]
}

// String returns the table.
func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "kind\tstatus 1\tstatus 2\tstatus 3\tprograms\tfinds\t")
	var all counts
	for _, kind := range kinds {
		c := t.byKind[kind]
		if c == nil {
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t\n", kind, c.refused[1], c.refused[2], c.refused[3], c.built, c.finds)
		all.built, all.finds = all.built+c.built, all.finds+c.finds
		for i, n := range c.refused {
			all.refused[i] += n
		}
	}
	fmt.Fprintf(w, "all\t%d\t%d\t%d\t%d\t%d\t\n", all.refused[1], all.refused[2], all.refused[3], all.built, all.finds)
	w.Flush()
	fmt.Fprintf(&b, "%d runs in %v\n", t.runs, time.Since(t.began).Round(time.Second))
	for _, look := range slices.Sorted(maps.Keys(t.looks)) {
		fmt.Fprintf(&b, "%6d %s\n", t.looks[look], look)
	}
	return b.String()
}
