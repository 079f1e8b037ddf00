package gputest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/ggmlc/ggmlc/ir/opcase"
	"github.com/ggmlc/ggmlc/kernels/gpu/interp"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kirtest"
)

// Group is a kind of checks of the conformance suite.
type Group struct {
	Name   string
	Doc    string
	Checks []Check
}

// Check compares what a machine computes with a definition.
type Check struct {
	Name string

	// Run returns how the machine differs, or an error that wraps ErrNoKernel if there is nothing to compare.
	Run func(ctx context.Context, on Machine) error
}

// Counts are the sizes of the random parts of the suite.
type Counts struct{ OddSizes, Kernels int }

// Whole are the counts of the whole suite.
var Whole = Counts{OddSizes: 150, Kernels: 100}

// Suite returns the conformance suite of GPUs: each machine that runs kernels has to pass it.
func Suite(n Counts) []Group {
	return []Group{
		{"cases", "the sample cases of all ops, compared with package ir/eval", caseChecks()},
		{"sizes", "random cases with extents beside those of workgroups and blocks, compared with package ir/eval", sizeChecks(n.OddSizes)},
		{"kernels", "random kernels, compared with the interpreter", kernelChecks(n.Kernels)},
	}
}

func caseChecks() []Check {
	var list []Check
	for _, c := range Cases() {
		list = append(list, Check{c.Name, func(ctx context.Context, on Machine) error { return c.compare(ctx, on, 1, 3) }})
	}
	return slices.Concat(list, []Check{{"top_k/hard values", hardTopK}}, expertsChecks())
}

func sizeChecks(n int) []Check {
	var list []Check
	for seed := range uint64(n) {
		c := RandomCase(seed)
		list = append(list, Check{c.Name, func(ctx context.Context, on Machine) error { return c.compare(ctx, on, seed, 1+int(seed)%5) }})
	}
	return list
}

// compare runs the case with operands that the seed decides.
func (c Case) compare(ctx context.Context, on Machine, seed uint64, groups int) error {
	call, err := opcase.Case(c.Op, c.Case, seed)
	if err != nil {
		return err
	}
	return Compare(ctx, call, on, groups, Tolerance(c, on.Assumes()))
}

func kernelChecks(n int) []Check {
	var list []Check
	for seed := range uint64(n) {
		list = append(list, Check{fmt.Sprintf("random/%d", seed), func(_ context.Context, on Machine) error { return compareKernel(seed, on) }})
	}
	return list
}

// compareKernel compares a random kernel, with the capabilities of the machine, with the interpreter.
func compareKernel(seed uint64, on Machine) error {
	c, err := kirtest.Random(rand.New(rand.NewPCG(seed, 3)), kirtest.Options{Caps: on.Assumes().Caps})
	if err != nil {
		return err
	}
	want, err := c.Run(simulated{interp.NewMemory()})
	if err != nil {
		return fmt.Errorf("simulated: %w", err)
	}
	got, err := c.Run(on)
	if err == nil {
		err = c.Compare(want, got)
	}
	if err != nil {
		return &KernelError{c.Kernel, err}
	}
	return nil
}

// KernelError is a difference of a random kernel.
type KernelError struct {
	Kernel *kir.Kernel
	Err    error
}

func (e *KernelError) Error() string { return e.Err.Error() }
func (e *KernelError) Unwrap() error { return e.Err }

// simulated runs kernels with the interpreter.
type simulated struct{ *interp.Memory }

func (s simulated) Run(k *kir.Kernel, groups int, args []uint64) error {
	return interp.Run(k, interp.Launch{Groups: groups, Args: args}, s.Memory, interp.Options{})
}

// Tally is what came of the checks of a group.
type Tally struct {
	Passed, Skipped int
	Failures        []Failure
}

// Failure is a check that failed.
type Failure struct {
	Check string
	Err   error
}

// Run runs the checks of a group. open returns the machine for the next check. The error is open's or the context's.
func (g *Group) Run(ctx context.Context, open func() (Machine, error)) (Tally, error) {
	var t Tally
	for _, c := range g.Checks {
		if err := ctx.Err(); err != nil {
			return t, err
		}
		on, err := open()
		if err != nil {
			return t, err
		}
		switch err := c.Run(ctx, on); {
		case errors.Is(err, ErrNoKernel):
			t.Skipped++
		case err != nil:
			t.Failures = append(t.Failures, Failure{c.Name, err})
		default:
			t.Passed++
		}
	}
	return t, nil
}
