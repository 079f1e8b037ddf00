package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	var o options
	flag.DurationVar(&o.duration, "for", time.Minute, "how long to go on")
	flag.IntVar(&o.tries, "tries", 0, "how many tries to make at most; 0: as many as time allows")
	flag.Uint64Var(&o.seed, "seed", 1, "of the first try; the others count on")
	one := flag.Uint64("try", 0, "make the try of this seed alone")
	flag.StringVar(&o.out, "out", "finds", "folder for what is found")
	flag.StringVar(&o.ggmlc, "ggmlc", "", "the compiler (default: built from this repository)")
	flag.StringVar(&o.kinds, "kinds", "", "kinds of tries, separated by commas (default: all)")
	flag.StringVar(&o.without, "without", "", "what is not drawn, separated by commas, so that a find that is known does not hide others: fields of targets, meta, rename")
	flag.BoolFunc("vulkan", "devices that Vulkan drives, in place of simulated ones that are not called fake", o.gpu("vulkan"))
	flag.BoolFunc("gpusim", "simulated GPUs, in place of simulated devices with the kernels of the CPU", o.gpu("gpusim"))
	flag.IntVar(&o.workers, "j", 2, "tries at a time")
	flag.IntVar(&o.group, "group", 12, "programs that are linked together")
	flag.BoolVar(&o.verbose, "v", false, "print each try")
	flag.Parse()
	if *one != 0 {
		o.seed, o.tries, o.workers, o.group, o.verbose = *one, 1, 1, 1, true
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	t, err := run(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(t)
	if len(t.finds) > 0 {
		os.Exit(1)
	}
}

// options control how long and where to search.
type options struct {
	duration       time.Duration
	tries          int
	seed           uint64
	out            string
	ggmlc          string
	kinds          string
	without        string
	workers, group int
	verbose        bool
	gpus           string // the target that devices are like; "" is fake
}

// gpu returns what a flag does that chooses the target that devices are like.
func (o *options) gpu(like string) func(string) error {
	return func(string) error {
		o.gpus = like
		return nil
	}
}

// run makes tries until the time or their number is reached, or ctx is done.
func run(ctx context.Context, o options) (*tally, error) {
	root, err := repository()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "seams-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	f := &fuzzer{options: o, root: root, dir: dir, tally: newTally(), references: make(map[string]*reference)}
	if f.ggmlc == "" {
		f.ggmlc = filepath.Join(dir, "ggmlc")
		cmd := exec.CommandContext(ctx, "go", "build", "-o", f.ggmlc, "./cmd/ggmlc")
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build ./cmd/ggmlc: %w\n%s", err, out)
		}
	}
	if f.out, err = filepath.Abs(o.out); err != nil {
		return nil, err
	}
	if err := f.prepare(); err != nil {
		return nil, err
	}
	return f.tally, f.loop(ctx)
}

// repository returns the root of this repository, in which the Go command has to run.
func repository() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	mod := strings.TrimSpace(string(out))
	if filepath.Base(mod) != "go.mod" {
		return "", fmt.Errorf("no module here: run this inside the repository")
	}
	return filepath.Dir(mod), nil
}
