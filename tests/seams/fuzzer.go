package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ggmlc/ggmlc/codegen"
)

// fuzzer makes and judges tries.
type fuzzer struct {
	options
	root, dir string
	subjects  subjects
	passes    []string // after which there is a dump; the first is the import
	sources   string   // folder of the sources that programs import
	tally     *tally

	next       atomic.Uint64 // number of tries begun
	deadline   time.Time
	mu         sync.Mutex // guards references
	references map[string]*reference
}

// prepare asks ggmlc for its passes and writes the sources that programs import.
func (f *fuzzer) prepare() error {
	f.subjects = subjects{root: f.root, dir: f.dir, made: make(map[string]*subject)}
	f.sources = filepath.Join(f.dir, "ggmlc-sources")
	if err := os.MkdirAll(f.sources, 0o777); err != nil {
		return err
	}
	o := execute(context.Background(), compileLimit, f.dir, nil, f.ggmlc, "passes")
	if o.status != 0 {
		return fmt.Errorf("ggmlc passes: %s", o.stderr)
	}
	f.passes = []string{"import"}
	for line := range strings.Lines(o.stdout) {
		if w := strings.Fields(line); len(w) > 2 && line[0] != ' ' {
			if _, err := strconv.Atoi(w[0]); err == nil {
				f.passes = append(f.passes, w[1])
			}
		}
	}
	if len(f.passes) < 10 {
		return fmt.Errorf("ggmlc passes: there are no passes in\n%s", o.stdout)
	}
	return codegen.WriteSources(f.sources)
}

// env keeps temporary files of ggmlc in the fuzzer's folder.
func (f *fuzzer) env() []string { return []string{"TMPDIR=" + f.dir} }

// loop runs workers that make groups of tries.
func (f *fuzzer) loop(ctx context.Context) error {
	f.deadline = time.Now().Add(f.duration)
	errs := make(chan error, f.workers)
	for range f.workers {
		go func() {
			for {
				more, err := f.makeGroup(ctx)
				if err != nil || !more {
					errs <- err
					return
				}
			}
		}()
	}
	var first error
	for range f.workers {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// begin returns the seed of the next try. It returns false if the fuzzer is to end.
func (f *fuzzer) begin(ctx context.Context) (uint64, bool) {
	if ctx.Err() != nil || f.tries == 0 && time.Now().After(f.deadline) {
		return 0, false
	}
	n := f.next.Add(1) - 1
	if f.tries > 0 && n >= uint64(f.tries) {
		return 0, false
	}
	return f.seed + n, true
}

// makeGroup makes tries until enough of them have a program, links these programs and runs them.
func (f *fuzzer) makeGroup(ctx context.Context) (more bool, err error) {
	dir, err := os.MkdirTemp(f.dir, "group-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	w, err := newWorkshop(dir, f.sources)
	if err != nil {
		return false, err
	}
	built := make(map[string]*try)
	more = true
	for len(w.packages) < f.group && more {
		var seed uint64
		if seed, more = f.begin(ctx); !more {
			break
		}
		t, err := f.compile(ctx, w, seed)
		if err != nil {
			return false, fmt.Errorf("try %d: %w", seed, err)
		}
		if t != nil {
			built[w.packages[len(w.packages)-1]] = t
		}
	}
	if err := f.link(ctx, w, built); err != nil {
		return false, err
	}
	for _, name := range w.packages {
		if err := f.runAll(ctx, w, name, built[name]); err != nil {
			return false, err
		}
		f.forget(built[name])
		if !f.verbose {
			os.RemoveAll(built[name].dir)
		}
	}
	return more, nil
}

// compile makes the try of a seed. It returns nil if there is nothing to run.
func (f *fuzzer) compile(ctx context.Context, w *workshop, seed uint64) (*try, error) {
	t, err := f.draw(seed)
	if err != nil {
		return nil, err
	}
	keep := false
	defer func() {
		if !keep {
			os.RemoveAll(t.dir)
		}
	}()
	if t.level != "" {
		o, ok, err := f.edit(ctx, t)
		if err != nil {
			return nil, err
		}
		if !ok {
			f.refused(ctx, t, "dump", o)
			return nil, nil
		}
	}
	name := fmt.Sprintf("p%d", seed)
	args := append([]string{"gen", "-o", filepath.Join(w.dir, name), "--package", name}, t.command()...)
	if o := execute(ctx, compileLimit, t.dir, f.env(), f.ggmlc, args...); o.status != 0 || o.late {
		f.refused(ctx, t, "gen", o)
		return nil, nil
	}
	keep = true
	return t, w.add(name)
}

// refused counts a try that ggmlc did not compile.
func (f *fuzzer) refused(ctx context.Context, t *try, command string, o outcome) {
	if ctx.Err() != nil {
		return
	}
	if f.verbose {
		log.Printf("try %d: %s %s: status %d\n%s", t.seed, t.kind, t.subject.name, o.status, o.stderr)
	}
	if wrong := o.broken(); wrong != "" {
		f.found(ctx, t, *compileFind(wrong, command, o))
		return
	}
	f.tally.refused(t, o.status)
}

// link makes one executable of the group. Packages that do not compile are finds and are left out.
func (f *fuzzer) link(ctx context.Context, w *workshop, built map[string]*try) error {
	for len(w.packages) > 0 {
		o := w.link(ctx)
		if o.status == 0 && !o.late {
			return nil
		}
		if ctx.Err() != nil {
			w.packages = nil
			return nil
		}
		bad := ""
		for _, p := range w.packages {
			if strings.Contains(o.stderr, p+"/") {
				bad = p
				break
			}
		}
		if bad == "" {
			return fmt.Errorf("go build: %s", o.stderr)
		}
		f.found(ctx, built[bad], find{class: "does not compile", want: "Go that compiles", got: o.stderr})
		w.remove(bad)
	}
	return nil
}

// runAll runs the program of a try in all ways and compares the results.
func (f *fuzzer) runAll(ctx context.Context, w *workshop, name string, t *try) error {
	ref, err := f.reference(ctx, t)
	if err != nil || ctx.Err() != nil {
		return err
	}
	source, err := os.ReadFile(filepath.Join(w.dir, name, "program.go"))
	if err != nil {
		return err
	}
	p := program{exe: w.exe, first: []string{name}, flags: simulatorFlags(string(source)), limit: f.runLimit()}
	f.tally.built(t)
	if ref.wrong != nil {
		f.found(ctx, t, *ref.wrong)
		return nil
	}
	j := &judge{f: f, t: t, p: p, ref: ref, dir: filepath.Join(w.dir, name+".out")}
	if x := j.all(ctx); x != nil {
		f.found(ctx, t, *x)
	} else if f.verbose {
		log.Printf("try %d: %s %s: good", t.seed, t.kind, t.subject.name)
	}
	return nil
}
