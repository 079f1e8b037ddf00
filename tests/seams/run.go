package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// program is an executable with its first arguments.
type program struct {
	exe   string
	first []string
	flags []func(variant) []string // of its simulators
	limit time.Duration            // of a run
}

// simulators has the flags of each simulator. Its key is a text in the help and in the source of programs with these
// flags.
var simulators = map[string]func(v variant) []string{
	"fake": func(v variant) []string {
		return []string{"--fake-seed", strconv.Itoa(v.seed), "--fake-delay", v.delay}
	},
	"gpusim": func(v variant) []string {
		return []string{"--gpusim-seed", strconv.Itoa(v.seed), "--gpusim-lanes", strconv.Itoa(v.lanes)}
	},
}

// simulatorFlags returns the flags of the simulators in a program with that source or help.
func simulatorFlags(text string) (list []func(variant) []string) {
	for kind, flags := range simulators {
		if strings.Contains(text, " "+kind+".Loader") || strings.Contains(text, "--"+kind+"-seed") {
			list = append(list, flags)
		}
	}
	return list
}

// environment allows a program more workers than this machine has processors.
var environment = []string{"GOMAXPROCS=8"}

// result is the result of one run of a program.
type result struct {
	outcome
	data string // tokens with their logits, or the arrays
}

// call runs the program. dir is a folder for arrays that does not exist yet.
func (p program) call(ctx context.Context, c call, dir string, flags ...string) result {
	args := slices.Concat(p.first, c.args, flags)
	if c.arrays {
		args = append(args, "-o", dir)
	}
	r := result{outcome: execute(ctx, p.limit, "", environment, p.exe, args...)}
	if !c.arrays {
		r.data = withoutSummary(r.stdout)
		return r
	}
	defer os.RemoveAll(dir)
	r.data = readFolder(dir)
	return r
}

// withoutSummary removes the line that contains times.
func withoutSummary(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, `{"summary"`) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// readFolder returns names and contents of a folder's files.
func readFolder(dir string) string {
	var b strings.Builder
	entries, _ := os.ReadDir(dir) // none if the program has failed
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		fmt.Fprintf(&b, "%s %v %x\n", e.Name(), err, data)
	}
	return b.String()
}

// variant is a way to run a program that must not change its results.
type variant struct {
	threads int
	seed    int    // of the simulators
	delay   string // the longest
	lanes   int    // threads of a subgroup of simulated GPUs: the same for all variants, as sums depend on it
}

// variants returns the variants of every program. The first one also makes the calls that are slow or fail.
func variants(d draw) []variant {
	var vs []variant
	for _, threads := range []int{1, 2, 3, 8} {
		vs = append(vs, variant{threads: threads, seed: d.IntN(1000), delay: pick(d, "0s", "20us", "100us", "300us")})
	}
	lanes := pick(d, 4, 8, 16, 32, 64)
	for i := range vs {
		vs[i].lanes = lanes
	}
	return vs
}

func (v variant) flags(p program) []string {
	flags := []string{"--threads", strconv.Itoa(v.threads)}
	for _, simulator := range p.flags {
		flags = append(flags, simulator(v)...)
	}
	return flags
}
