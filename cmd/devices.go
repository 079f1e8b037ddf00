package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen"
)

type devicesFlags struct {
	compileFlags
	check, measure bool
	device, out    string
}

func devicesCommand() *cobra.Command {
	var f devicesFlags
	cmd := &cobra.Command{
		Use:   "devices [flags]",
		Short: "list the GPUs and the processor of this machine, check, measure",
		Long: `devices lists the GPUs that a driver makes available, with what kernels may use
of them, and the processor. With --check it compares what a GPU computes with
the definitions of ops and kernels, with --measure it writes a target file for
builds with --target-file. The first call builds the program that talks to
drivers, which is kept where ggmlc run keeps programs.

With --targets, --target-file or --group it lists the backends that these flags
name instead, with their cores and the shares of a group.`,
		Example: `  ggmlc devices
  ggmlc devices --targets cpu:cores=0-3,cpu:cores=4-7 --group tp=cpu:0,cpu:1
  ggmlc devices --check --device vulkan:0
  ggmlc devices --measure -o gpu.target
  ggmlc build model.gguf --target-file gpu.target`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.contradiction(cmd); err != nil {
				return err
			}
			if f.named(cmd) {
				return f.listBackends(cmd.OutOrStdout(), cmd.ErrOrStderr())
			}
			return f.run(cmd.Context(), cmd)
		},
	}
	fs := cmd.Flags()
	fs.BoolVar(&f.check, "check", false, "run the conformance suite on the GPU; the exit status is 1 if a check fails")
	fs.BoolVar(&f.measure, "measure", false, "measure the GPU's rates and write a target file")
	fs.StringVar(&f.device, "device", "", "the GPU to check or to measure: `[DRIVER:]N`, or a part of its name (default: the one that programs take)")
	f.registerTargets(fs)
	fs.StringVarP(&f.out, "output", "o", "", "with --measure: the target file (default, or -: standard output)")
	return cmd
}

// contradiction refuses flags that do not belong together.
func (f *devicesFlags) contradiction(cmd *cobra.Command) error {
	f.out = orStdout(f.out)
	switch {
	case cmd.Flags().Changed("targets") && cmd.Flags().Changed("target-file"):
		return errTwoLists
	case f.check && f.measure:
		return usagef("--check and --measure exclude each other: leave one out")
	case cmd.Flags().Changed("output") && !f.measure:
		return usagef("-o names the file of --measure: add --measure, or leave -o out")
	case f.named(cmd) && (f.check || f.measure):
		return usagef("--check and --measure work on what a driver makes available: leave out --targets, --target-file and --group")
	case f.device != "" && !f.check && !f.measure:
		return usagef("--device chooses what --check and --measure work on: add one of them, or leave --device out")
	}
	return nil
}

// run runs the program of package devices. ggmlc does not link it, since executables that call drivers are not static.
func (f *devicesFlags) run(ctx context.Context, cmd *cobra.Command) error {
	p := newProgress(cmd.ErrOrStderr(), asText, progressFlags{})
	defer p.done()
	exe, inUse, err := devicesProgram(ctx, p)
	if err != nil {
		return err
	}
	defer inUse.Close()
	if f.out == "" {
		return startable(runProgram(cmd, cmd.OutOrStdout(), exe, f.args(p)))
	}
	var text bytes.Buffer
	if err := startable(runProgram(cmd, &text, exe, f.args(p))); err != nil {
		return err
	}
	return codegen.WriteFile(f.out, text.Bytes())
}

// args returns the arguments of the program; see devices.Main.
func (f *devicesFlags) args(p *progress) []string {
	var args []string
	if f.check {
		args = append(args, "-check")
	}
	if f.measure {
		args = append(args, "-measure")
	}
	if p.w != nil {
		args = append(args, "-progress")
	}
	return append(args, "-device", f.device)
}

// startable adds what to do to the error of a program that has not started.
func startable(err error) error {
	var status *programStatus
	if err == nil || errors.As(err, &status) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("the program that talks to drivers does not start: %w: it needs the dynamic loader of the system's C library, on Linux that of glibc", err)
}

// devicesNote is what ggmlc cache prints in place of a model.
const devicesNote = "ggmlc devices"

// devicesProgram returns the program that talks to drivers. It builds the program unless the user's cache has it. The
// program stays in the cache until the file is closed.
func devicesProgram(ctx context.Context, p *progress) (exe string, inUse *os.File, err error) {
	c, err := userCache()
	if err != nil {
		return "", nil, err
	}
	e, err := devicesEntry(ctx, c)
	if err != nil {
		return "", nil, err
	}
	exe = filepath.Join(e.dir, "devices.exe") // a name that Windows starts
	if e.has(exe) {
		e.touch()
		return exe, e.inUse, nil
	}
	p.line("building the program that talks to drivers")
	err = codegen.BuildDevices(ctx, exe)
	if err == nil {
		err = writeNote(exe, devicesNote)
	}
	if err != nil {
		e.inUse.Close()
		c.drop(ctx, e.dir)
		return "", nil, err
	}
	return exe, e.inUse, nil
}

// devicesEntry makes the folder for the program and locks it.
func devicesEntry(ctx context.Context, c cache) (e runEntry, err error) {
	lock, err := c.lockMade(ctx)
	if err != nil {
		return e, err
	}
	defer lock.Close()
	e.dir = filepath.Join(c.dir, codegen.DevicesID())
	e.inUse, err = c.use(e.dir)
	return e, err
}
