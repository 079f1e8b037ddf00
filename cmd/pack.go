package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/passes/mem"
	"github.com/ggmlc/ggmlc/passes/target"
)

// packSteps is the search's budget without --plan-time. It is larger than that of a compilation, since a user who
// gives a capacity would rather wait than fail. A problem of 400 buffers that is not solved usually takes half a
// minute.
const packSteps = 1 << 22

// packFlags holds the flags of pack.
type packFlags struct {
	capacity, out string
	planTime      time.Duration
	disable       []string
	json          bool
}

func packCommand() *cobra.Command {
	var f packFlags
	names, docs := mem.TechniqueNames()
	cmd := &cobra.Command{
		Use:   "pack problem.csv",
		Short: "the memory planner alone: offsets for buffers with known lives",
		Long: `pack reads buffers, a row each, with the columns id, lower, upper and size: live
in [lower, upper), of size bytes. There may be alignment, and gaps: parts of the
life without bytes, such as "3-5 8-9"; where there is an offset, the buffer has
to lie there. It writes the same with a column offset, such that no two buffers
that are live at once share bytes. This is the form of
github.com/google/minimalloc.

With --capacity all buffers have to end within so many bytes (exit status 3
where no such packing is found, and nothing is written); without it the lowest
packing found is written. Equal inputs give equal outputs, unless --plan-time
cuts the search.

Techniques that --disable switches off:
` + techniqueHelp(names, docs),
		Example: `  ggmlc pack problem.csv --capacity 1048576 -o solution.csv
  ggmlc pack problem.csv --capacity 1MiB --plan-time 10s --json
  ggmlc pack problem.csv > lowest.csv`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("pack needs one file of buffers: see ggmlc pack --help")
			}
			return f.pack(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0])
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.capacity, "capacity", "", "bytes that all buffers have to fit in, such as 1048576 or 1MiB (default: as few as can be found)")
	fs.StringVarP(&f.out, "output", "o", "", "file for the solution (default, or -: standard output)")
	fs.DurationVar(&f.planTime, "plan-time", 0, "search for as long as this, by the clock (results are then not reproducible)")
	fs.StringArrayVar(&f.disable, "disable", nil, "`TECHNIQUE` that is switched off")
	fs.BoolVar(&f.json, "json", false, "what was found, and diagnostics, as one JSON object a line")
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return []string{"csv"}, cobra.ShellCompDirectiveFilterFileExt
	}
	complete(cmd, "disable", names...)
	return cmd
}

func techniqueHelp(names, docs []string) string {
	var b strings.Builder
	for i, name := range names {
		fmt.Fprintf(&b, "  %-10s %s\n", name, docs[i])
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// pack solves the problem of one file.
func (f *packFlags) pack(ctx context.Context, stdout, stderr io.Writer, path string) error {
	f.out = orStdout(f.out)
	if err := nameGiven(path); err != nil {
		return err
	}
	opts, err := f.options()
	if err != nil {
		return err
	}
	if err := noClash([]namedPath{{"the problem", path}}, outputs(namedPath{"-o", f.out})); err != nil {
		return err
	}
	p, err := readProblem(path)
	if err != nil {
		return err
	}
	if f.out != "" && !codegen.Device(f.out) {
		if err := codegen.Writable(f.out); err != nil {
			return err
		}
	}
	s, stats, err := f.solve(ctx, p, opts)
	if ctx.Err() != nil {
		return ctx.Err() // cancelled by the user, not by --plan-time
	}
	f.report(stderr, newPackReport(path, p, opts, s, stats))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var b bytes.Buffer
	if err := mem.WriteCSV(&b, p, s); err != nil {
		return err
	}
	if f.out != "" {
		return codegen.WriteFile(f.out, b.Bytes())
	}
	_, err = stdout.Write(b.Bytes())
	return err
}

// options converts the flags to options of the planner.
func (f *packFlags) options() (mem.Options, error) {
	o := mem.Options{MaxSteps: packSteps}
	if f.capacity != "" {
		n, err := target.ParseSize(f.capacity)
		if err != nil || n <= 0 {
			return o, usagef("--capacity %s: write a number above 0 and optionally a unit, such as 1048576 or 1MiB", f.capacity)
		}
		o.Capacity = n
	}
	switch {
	case f.planTime < 0:
		return o, usagef("--plan-time %v: the time must not be negative", f.planTime)
	case f.planTime > 0:
		o.MaxSteps = math.MaxInt64
	}
	for _, name := range f.disable {
		t, err := mem.ParseTechnique(name)
		if err != nil {
			return o, usagef("--disable %s: %v", name, err)
		}
		o.Without |= t
	}
	return o, nil
}

func readProblem(path string) (mem.Problem, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() { // a device may be endless
		return mem.Problem{}, &codegen.FileError{File: path, Err: errors.New("not a regular file: give a CSV file")}
	}
	r, err := os.Open(path)
	if err != nil {
		return mem.Problem{}, &codegen.FileError{File: path, Err: errors.Unwrap(err)}
	}
	defer r.Close()
	p, err := mem.ReadCSV(r)
	if err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func (f *packFlags) solve(ctx context.Context, p mem.Problem, opts mem.Options) (mem.Solution, mem.Stats, error) {
	if f.planTime > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.planTime)
		defer cancel()
	}
	return mem.Solve(ctx, p, opts)
}

// packReport is the result of pack, in the form that --json prints.
type packReport struct {
	Level       string   `json:"level"`
	Code        string   `json:"code"`
	File        string   `json:"file"`
	Buffers     int      `json:"buffers"`
	Capacity    int64    `json:"capacity,omitempty"`
	Need        int64    `json:"need"`  // of the best packing found
	Bound       int64    `json:"bound"` // no packing needs less
	Setters     []string `json:"setters"`
	Greedy      int64    `json:"greedy"`
	GreedyOrder string   `json:"greedy_order"`
	Steps       int64    `json:"steps"`
	Restarts    int64    `json:"restarts"`
	Proved      bool     `json:"proved"` // no packing is lower, or none fits the capacity
	Cut         bool     `json:"cut"`    // --plan-time ended the search
}

// maxSetters is the most buffers that are named as setting the bound.
const maxSetters = 8

func newPackReport(path string, p mem.Problem, o mem.Options, s mem.Solution, stats mem.Stats) packReport {
	r := packReport{
		Level: "note", Code: "pack", File: filepath.ToSlash(path), Buffers: len(p.Buffers), Capacity: o.Capacity,
		Need: s.Height, Bound: stats.Bound, Setters: []string{}, Greedy: stats.Greedy, GreedyOrder: stats.GreedyOrder,
		Steps: stats.Steps, Restarts: stats.Restarts, Cut: stats.Cancelled,
		Proved: stats.Proved || s.Height == stats.Bound || stats.Bound > o.Capacity && o.Capacity > 0,
	}
	for _, i := range stats.Setters[:min(len(stats.Setters), maxSetters)] {
		r.Setters = append(r.Setters, p.Buffers[i].ID)
	}
	return r
}

// report prints r as a line for people or as an object.
func (f *packFlags) report(w io.Writer, r packReport) {
	if f.json {
		line, _ := json.Marshal(r) // its values cannot fail
		fmt.Fprintf(w, "%s\n", line)
		return
	}
	fmt.Fprintf(w, "ggmlc: %s: %d buffers need %d bytes (lower bound %d, greedy by %s %d); %d steps of search%s\n",
		r.File, r.Buffers, r.Need, r.Bound, r.GreedyOrder, r.Greedy, r.Steps, r.verdict())
}

// verdict describes what is known about lower packings.
func (r packReport) verdict() string {
	switch {
	case r.Cut:
		return ", cut by --plan-time"
	case r.Capacity == 0 && r.Proved:
		return "; none needs less"
	}
	return ""
}
