// Package devices is the program that ggmlc devices builds and runs. It calls drivers, which ggmlc cannot: its
// executable is static. The program lists devices, compares what they compute with definitions, and measures their
// rates.
package devices

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// Exit statuses are those of ggmlc.
const (
	exitFailed = 1 // the surroundings are wrong, or a check fails
	exitUsage  = 2
)

// Main runs the program and returns its exit status. ggmlc has checked that the arguments go together. Errors are
// printed as ggmlc prints its own.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// Run is Main with its environment as parameters.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c := &command{counts: gputest.Whole, stdout: stdout, line: func(string) {}}
	err := c.parse(args, stderr)
	if err == nil {
		err = c.run(ctx)
	}
	if err == nil {
		return 0
	}
	report(stderr, err)
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}

// command is a call of the program.
type command struct {
	check, measure bool
	device         string
	counts         gputest.Counts // of the checks
	stdout         io.Writer
	line           func(string) // prints the next action
}

func (c *command) parse(args []string, stderr io.Writer) error {
	fs := flag.NewFlagSet("ggmlc devices", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&c.check, "check", false, "run the conformance suite")
	fs.BoolVar(&c.measure, "measure", false, "print a target file")
	fs.StringVar(&c.device, "device", "", "the device to check or to measure")
	fs.BoolFunc("progress", "print each action to standard error", func(string) error {
		c.line = func(what string) { fmt.Fprintln(stderr, what) }
		return nil
	})
	if err := fs.Parse(args); err != nil {
		return usageError{err}
	}
	return nil
}

func (c *command) run(ctx context.Context) error {
	all := gpuDrivers()
	devices, errs := findDevices(all)
	if !c.check && !c.measure {
		return listDevices(c.stdout, devices, errs)
	}
	d, err := pickDevice(devices, c.device)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	if d.unusable != "" {
		return fmt.Errorf("%v %s: %s: choose another device (--device), or install a newer driver", d, d.name, d.unusable)
	}
	if c.measure {
		return c.writeMeasured(ctx, d)
	}
	return c.checkDevice(ctx, d)
}

// usageError marks an error as wrong usage.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// report prints the parts of joined errors, each on a line.
func report(w io.Writer, err error) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range many.Unwrap() {
			report(w, e)
		}
		return
	}
	text := printable.Text(err.Error())
	if errors.Is(err, context.Canceled) {
		text = "interrupted"
	}
	fmt.Fprintf(w, "ggmlc: %s\n", text)
}
