package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// reduceLimit is how long a find is reduced.
const reduceLimit = 2 * time.Minute

// reduce removes parts of a try that its find does not need: targets, their fields, options. It returns the smaller
// try and its find. It does not change an edited text.
func (f *fuzzer) reduce(ctx context.Context, t *try, x find) (*try, find) {
	ctx, cancel := context.WithTimeout(ctx, reduceLimit)
	defer cancel()
	if t.level != "" {
		return t, x
	}
	for smaller := true; smaller && ctx.Err() == nil; {
		smaller = false
		less := t.smaller()
		for i := 0; i < len(less); {
			y := f.again(ctx, less[i])
			if y == nil || y.kind() != x.kind() || ctx.Err() != nil {
				i++
				continue
			}
			t, x, smaller = less[i], *y, true
			less = t.smaller() // the next part to remove has taken this one's place
		}
	}
	return t, x
}

// kind returns the class of a find without figures.
func (x find) kind() string {
	kind, _, _ := strings.Cut(x.class, ":")
	return kind
}

// smaller returns the tries that lack one part each.
func (t *try) smaller() []*try {
	var less []*try
	add := func(machine *machine, numeric, planned []string) {
		c := *t
		c.machine, c.numeric, c.planned = machine, numeric, planned
		c.args = slices.Concat(numeric, []string{"--target-file", filepath.Join(t.dir, "machine.targets")}, planned)
		less = append(less, &c)
	}
	for i := range t.machine.lines[:len(t.machine.lines)-1] {
		add(t.machine.without(i), t.numeric, t.planned)
	}
	for i := 0; i < len(t.planned); i += 2 {
		add(t.machine, t.numeric, slices.Delete(slices.Clone(t.planned), i, i+2))
	}
	for i := 0; i < len(t.numeric); i += 2 {
		add(t.machine, slices.Delete(slices.Clone(t.numeric), i, i+2), t.planned)
	}
	for i, line := range t.machine.lines {
		words := strings.Fields(line)
		for w := 3; w < len(words); w++ {
			if !strings.HasPrefix(words[w], "space=") {
				m := *t.machine
				m.lines = slices.Clone(m.lines)
				m.lines[i] = strings.Join(slices.Delete(slices.Clone(words), w, w+1), " ")
				add(&m, t.numeric, t.planned)
			}
		}
	}
	return less
}

// without returns the machine without target i.
func (m *machine) without(i int) *machine {
	c := *m
	c.lines, c.names = slices.Delete(slices.Clone(m.lines), i, i+1), slices.Delete(slices.Clone(m.names), i, i+1)
	return &c
}

// again makes a try by itself. It returns its find, or nil if there is none.
func (f *fuzzer) again(ctx context.Context, t *try) *find {
	dir, err := os.MkdirTemp(f.dir, "again-")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(t.dir, "machine.targets"), []byte(t.machine.text()), 0o666); err != nil {
		return nil
	}
	exe := filepath.Join(dir, "program")
	o := execute(ctx, linkLimit, t.dir, f.env(), f.ggmlc, append([]string{"build", "-o", exe}, t.command()...)...)
	if wrong := o.broken(); wrong != "" {
		return compileFind(wrong, "build", o)
	}
	if o.status != 0 {
		return nil
	}
	ref, err := f.reference(ctx, t)
	if err != nil || ctx.Err() != nil {
		return nil
	}
	p := program{exe: exe, limit: f.runLimit()}
	if len(t.machine.lines) > 1 { // a program does not include a target that runs nothing
		p.flags = simulatorFlags(execute(ctx, runLimit, dir, nil, exe, "-h").stdout)
	}
	j := &judge{f: f, t: t, p: p, ref: ref, dir: filepath.Join(dir, "out")}
	return j.all(ctx)
}

// compileFind returns the find for a fault of ggmlc.
func compileFind(wrong, command string, o outcome) *find {
	return &find{class: "ggmlc " + wrong, want: "a program, or status 1, 2 or 3", got: fmt.Sprintf("ggmlc %s:\n%s", command, o.stderr)}
}
