package cmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/shard"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime"
)

// named reports whether flags name backends.
func (f *devicesFlags) named(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"targets", "target-file", "group"}, cmd.Flags().Changed)
}

// listBackends writes a table of the backends that the flags name, and notes about cores that this process may not use.
func (f *devicesFlags) listBackends(w, notes io.Writer) error {
	l, err := f.targetList()
	if err != nil {
		return usageError{err}
	}
	part := make(map[string]string) // of the group's work
	if f.group != "" {
		if part, err = partsOfGroup(f.group, l); err != nil {
			return usageError{err}
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "backend\tkind\tspaces\tthreads\tcores\tmemory\tgroup")
	for _, d := range l.All() {
		memory := "-"
		if d.Memory > 0 {
			memory = ir.BytesText(d.Memory)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", d.Name, d.Kind, strings.Join(d.Spaces, ","), d.Threads,
			cmp.Or(target.CoresText(d), "-"), memory, cmp.Or(part[d.Name], "-"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, d := range l.All() {
		if len(d.Cores) == 0 {
			continue
		}
		if note := runtime.MissingCores(d.Name, d.Cores); note != "" {
			fmt.Fprintln(notes, "ggmlc:", note)
		}
	}
	return nil
}

// partsOfGroup returns for each member of a group the group's name and the member's part of the work.
func partsOfGroup(text string, l *target.List) (map[string]string, error) {
	g, err := pass.ParseGroup(text)
	if err != nil {
		return nil, err
	}
	shares, err := shard.Shares(g, l)
	if err != nil {
		return nil, err
	}
	sum := 0.0
	for _, s := range shares {
		sum += s
	}
	part := make(map[string]string)
	for i, m := range g.Members {
		part[m] = fmt.Sprintf("%s %.3g%%", g.Name, 100*shares[i]/sum)
	}
	return part, nil
}
