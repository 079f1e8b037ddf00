// Command performance measures programs that ggmlc makes, beside llama-bench of other
// projects and this machine's limits, and writes docs/performance.md from what it found.
//
//	go run . [flags]     measure what results.json lacks, then write its part of the page and the picture
//	go run . -page       write them again from results.json
//
// With -results, another file of results takes its place: it has rows and a part of the page of its own.
//
// Everything runs in turns, so that a change of the machine's speed meets all programs alike. In each
// round the programs of a row generate one after the other, several times, and then run prompts; ratios
// are taken within such a turn. Figures that one program compares, such as depths, take turns of 50 ms
// within it. Results are saved at once; an interrupted run continues where it was.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
)

// options are the command line.
type options struct {
	models, small, ik, llama string
	ikAVX2, ikAVXVNNI        string
	source, work, docs       string
	rounds, turns, threads   int
	rows, file               string
	quiet                    float64
	fresh, page, profiles    bool
}

func parse(args []string) (*options, error) {
	o := new(options)
	f := flag.NewFlagSet("performance", flag.ContinueOnError)
	f.StringVar(&o.models, "models", "", "`folder` with r1b-f16.gguf, r1b-bf16.gguf, r1b-Q4_0.gguf, r1b-Q8_0.gguf, r1b-Q4_K_M.gguf … (../shared/peers.md describes how they are made); rows of files that are not there are left out")
	f.StringVar(&o.small, "small", "../../../shared/data/aidreams260K.gguf", "the small model's `file`")
	f.StringVar(&o.ik, "ik", "", "ik_llama.cpp's llama-bench; none: its columns stay empty")
	f.StringVar(&o.ikAVX2, "ik-avx2", "", "ik_llama.cpp's llama-bench, built without AVX-512, for rows of AVX2; none: their columns stay empty")
	f.StringVar(&o.ikAVXVNNI, "ik-avxvnni", "", "the same, built with AVX-VNNI as well, for rows of AVX-VNNI")
	f.StringVar(&o.llama, "llama", "", "llama.cpp's llama-bench; none: its columns stay empty")
	f.StringVar(&o.source, "source", filepath.Join("..", ".."), "`folder` of the checkout that is measured")
	f.StringVar(&o.work, "work", filepath.Join(os.TempDir(), "ggmlc-performance"), "`folder` for programs that are built (some 10 GB)")
	f.StringVar(&o.docs, "docs", "..", "`folder` of performance.md; the picture and results.json are in its folder performance")
	f.IntVar(&o.rounds, "rounds", 3, "rounds")
	f.IntVar(&o.turns, "turns", 3, "turns of generation in each round; prompts, which are steadier, take one")
	f.IntVar(&o.threads, "threads", 2, "threads of the 1.1 B models")
	f.StringVar(&o.file, "results", mainResults, "`name` of the file of results in the folder performance of -docs: each has its rows and its part of the page")
	f.StringVar(&o.rows, "rows", "", "only rows whose name matches the `pattern`")
	f.Float64Var(&o.quiet, "quiet", 0.05, "repeat, at most twice, what ran while others used more than this `share` of the processors")
	f.BoolVar(&o.fresh, "fresh", false, "forget the results that there are")
	f.BoolVar(&o.page, "page", false, "measure nothing")
	f.BoolVar(&o.profiles, "profiles", true, "also take profiles")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if err := o.check(f.Args()); err != nil {
		fmt.Fprintln(f.Output(), err)
		return nil, err
	}
	return o, nil
}

// check reports what flags cannot mean, and arguments beside them.
func (o *options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q: -h lists the flags", rest[0])
	case o.rounds < 1 || o.turns < 1 || o.threads < 1:
		return fmt.Errorf("-rounds %d -turns %d -threads %d: at least 1 of each", o.rounds, o.turns, o.threads)
	case !slices.ContainsFunc(rows, func(w row) bool { return w.fileOfResults() == o.file }):
		return fmt.Errorf("-results %s: no row belongs to it: rows belong to %s and %s", o.file, mainResults, blockResults)
	}
	return nil
}

func main() {
	log.SetFlags(log.Ltime)
	o, err := parse(os.Args[1:])
	if err != nil {
		os.Exit(2) // parse has reported it
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, o *options) error {
	path := filepath.Join(o.docs, "performance", o.file)
	r := newResults(path)
	if !o.fresh {
		var err error
		if r, err = readResults(path); err != nil {
			return err
		}
	}
	if !o.page {
		only, err := regexp.Compile(o.rows)
		if err != nil {
			return fmt.Errorf("-rows: %w", err)
		}
		if err := (&session{options: o, results: r, only: only}).measure(ctx); err != nil {
			return err
		}
	}
	return writePage(o.docs, r)
}
