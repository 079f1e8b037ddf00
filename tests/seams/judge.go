package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// reference holds the results of the program for the CPU alone, by call.
type reference struct {
	done    chan struct{}
	refused string // ggmlc's message, if it makes no such program
	results []result
	wrong   *find // set if the results differ from those of ir/eval
}

// reference returns the results to compare with. They are computed once for all tries of a subject with the same
// settings.
func (f *fuzzer) reference(ctx context.Context, t *try) (*reference, error) {
	key := t.key()
	f.mu.Lock()
	r, known := f.references[key]
	if !known {
		r = &reference{done: make(chan struct{})}
		f.references[key] = r
	}
	f.mu.Unlock()
	if known {
		select {
		case <-r.done:
		case <-ctx.Done():
		}
		return r, nil
	}
	defer close(r.done)
	return r, r.make(ctx, f, t)
}

// key identifies the reference of a try.
func (t *try) key() string { return t.subject.name + " " + strings.Join(t.numeric, " ") }

// forget drops the reference of a graph, which is hardly used again: there are a million graphs.
func (f *fuzzer) forget(t *try) {
	if t.subject.graph != nil {
		f.mu.Lock()
		delete(f.references, t.key())
		f.mu.Unlock()
		os.RemoveAll(filepath.Dir(t.subject.path))
	}
}

func (r *reference) make(ctx context.Context, f *fuzzer, t *try) error {
	dir, err := os.MkdirTemp(f.dir, "reference-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p := program{exe: filepath.Join(dir, "program"), limit: runLimit}
	args := slices.Concat([]string{"build", "-o", p.exe}, t.numeric, []string{t.subject.path})
	if o := execute(ctx, linkLimit, dir, f.env(), f.ggmlc, args...); o.status != 0 {
		r.refused = fmt.Sprintf("status %d: %s", o.status, o.stderr)
		return nil
	}
	for i, c := range t.subject.calls {
		r.results = append(r.results, p.call(ctx, c, filepath.Join(dir, fmt.Sprint(i)), "--threads", "1"))
	}
	if t.subject.graph == nil || ctx.Err() != nil {
		return nil
	}
	r.wrong, err = t.subject.defined(ctx, r.results)
	return err
}

// judge runs the program of one try and checks its results.
type judge struct {
	f     *fuzzer
	t     *try
	p     program
	ref   *reference
	dir   string
	first []*result // of each call, the first result
}

// all makes all calls in all ways. It returns the first find, or nil if there is none.
func (j *judge) all(ctx context.Context) *find {
	j.first = make([]*result, len(j.t.subject.calls))
	for _, v := range variants(newDraw(j.t.seed, 3)) {
		for i, c := range j.t.subject.calls {
			if v.threads > 1 && c.name == "too long" {
				continue
			}
			flags := v.flags(j.p)
			r := j.p.call(ctx, c, j.dir, flags...)
			if ctx.Err() != nil {
				return nil
			}
			j.f.tally.run()
			if x := j.wrong(i, r); x != nil {
				x.flags = slices.Concat(c.args, flags)
				return x
			}
		}
	}
	return nil
}

// wrong returns a find if the result of call i is wrong, and otherwise nil. It compares the result with that of the
// CPU, unless an edit may have changed that, and with the first result of the same program.
func (j *judge) wrong(i int, r result) *find {
	if broken := r.broken(); broken != "" {
		return &find{class: "program " + broken, want: "what the processor computes, or status 1 or 2", got: r.stderr + r.stdout}
	}
	if !j.t.meaning && j.ref.refused == "" {
		if x := j.compare(&j.ref.results[i], &r, j.t.bound()); x != nil {
			return x
		}
	}
	if j.first[i] == nil {
		j.first[i] = &r
		return nil
	}
	x := j.compare(j.first[i], &r, 0)
	if x != nil {
		x.class += ", and differs from run to run"
	}
	return x
}

// compare returns a find if a result differs from the wanted one by more than the bound. An edited program may
// refuse.
func (j *judge) compare(want, r *result, bound float64) *find {
	switch {
	case r.status == 0 && want.status == 0:
		if r.data == want.data || near(want.data, r.data, bound) {
			return nil
		}
		return &find{class: "wrong result: " + difference(want.data, r.data), want: want.data, got: r.data}
	case r.status == want.status:
		return nil
	case r.status != 0:
		if j.t.level != "" && strings.HasPrefix(want.data, r.data) {
			return nil
		}
		return &find{class: "program refuses", want: want.data, got: fmt.Sprintf("status %d: %s", r.status, r.stderr)}
	}
	return &find{class: "program takes what the other refuses", want: want.stderr, got: r.data}
}
