package cmd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/cmd/ggmlc/demo"
	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/passes/target"
)

// runFlags holds the flags of run.
type runFlags struct {
	buildFlags
	cacheLimit string
	verify     bool
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [compile flags] [model] [program flags]",
		Short: "compile a model into a cache and run it; without one, the demo",
		Long: `run compiles a model, keeps the executable in the user's cache, and runs it.
Flags of the compiler come before the model; what follows the model goes to the
program:

  ggmlc run [flags of the compiler] model.gguf [flags of the program]
  ggmlc run [flags of the compiler] -- [flags of the program]   (the demo model)

ggmlc run model.gguf --help lists the program's flags. ggmlc cache shows what is
kept.`,
		Example: `  ggmlc run -- --prompt "One day" -n 64
  ggmlc run model.gguf --prompt "One day" --temp 0.8
  ggmlc run --ctx 2048 model.gguf bench
  ggmlc run --targets vulkan,cpu --fallback cpu model.gguf --prompt "One day"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.debugHelp(cmd.OutOrStdout()) {
				return nil
			}
			model, rest, err := splitRunArgs(cmd, args)
			if err != nil {
				return err
			}
			exe, inUse, err := f.cached(cmd.Context(), cmd, model)
			if err != nil {
				return err
			}
			defer inUse.Close()
			if f.verify {
				rest = withVerify(rest)
			}
			return runProgram(cmd, cmd.OutOrStdout(), exe, rest)
		},
	}
	f.register(cmd)
	f.registerFallback(cmd)
	f.registerProgress(cmd, &f.quiet)
	f.forRun = true
	cmd.SetFlagErrorFunc(misusedRunFlag)
	cmd.Flags().StringVar(&f.cacheLimit, "cache-limit", defaultCacheLimit, "`SIZE` of the cache: the least recently used programs are removed above it")
	cmd.Flags().BoolVar(&f.verify, "verify", false, "pass --verify on to the program: it hashes its weights first, even if they exceed 64 MiB")
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// withVerify adds --verify to a program's arguments, after the command if they begin with one.
func withVerify(args []string) []string {
	at := 0
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		at = 1
	}
	return slices.Insert(slices.Clone(args), at, "--verify")
}

// cached returns the executable for a model and these flags. It compiles the model unless the user's cache has the
// executable. The program stays in the cache until the file is closed.
func (f *runFlags) cached(ctx context.Context, cmd *cobra.Command, model string) (exe string, inUse *os.File, err error) {
	limit, err := target.ParseSize(f.cacheLimit)
	if err != nil {
		return "", nil, usagef("--cache-limit: %w", err)
	}
	c, err := userCache()
	if err != nil {
		return "", nil, err
	}
	e, err := f.entry(ctx, c, model)
	if err != nil {
		return "", nil, err
	}
	f.out = filepath.Join(e.dir, defaultOut(e.model))
	if e.has(f.out) {
		e.touch()
		return f.out, e.inUse, nil
	}
	if err := f.compileInto(ctx, cmd, e.model, e.note); err != nil {
		e.inUse.Close()
		c.drop(ctx, e.dir)
		return "", nil, err
	}
	c.evict(ctx, limit, e.dir)
	return f.out, e.inUse, nil
}

// runEntry is the place in the cache of the program that is to run.
type runEntry struct {
	model string // a file
	note  string // what ggmlc cache prints for the model
	dir   string
	inUse *os.File // its lock
}

// has reports whether the entry has the executable. A file that a crash of the system has cut is not it.
func (e *runEntry) has(exe string) bool {
	size, _ := readNote(e.dir)
	info, err := os.Stat(exe)
	return err == nil && info.Size() == size
}

// entry makes the folder for the program of a model and locks it. No other run writes the demo's file meanwhile.
func (f *runFlags) entry(ctx context.Context, c cache, model string) (e runEntry, err error) {
	lock, err := c.lockMade(ctx)
	if err != nil {
		return e, err
	}
	defer lock.Close()
	if e.model, e.note, err = modelFile(c, model); err != nil {
		return e, err
	}
	key, err := f.cacheKey(e.model)
	if err != nil {
		return e, err
	}
	e.dir = filepath.Join(c.dir, key)
	e.inUse, err = c.use(e.dir)
	return e, err
}

// modelFile returns the file of a model, and what ggmlc cache prints for it. Without a name it is that of the demo.
func modelFile(c cache, model string) (path, note string, err error) {
	if model == "" {
		path, err = demoFile(c.dir)
		return path, "the demo model", err
	}
	note, err = filepath.Abs(model)
	return model, note, err
}

// touch records a use of the entry, which works even if its time cannot be set.
func (e *runEntry) touch() {
	now := time.Now()
	_ = os.Chtimes(e.dir, now, now)
}

// compileInto compiles a model into a folder of the cache, with a note of its size and model.
func (f *runFlags) compileInto(ctx context.Context, cmd *cobra.Command, model, note string) error {
	if err := f.build(ctx, cmd, model); err != nil {
		return err
	}
	return writeNote(f.out, note)
}

// writeNote completes the entry of an executable.
func writeNote(exe, model string) error {
	info, err := os.Stat(exe)
	if err != nil {
		return err
	}
	return codegen.WriteFile(filepath.Join(filepath.Dir(exe), modelNote), fmt.Appendf(nil, "%d\n%s", info.Size(), model))
}

// demoFile writes the demo model to a file that the compiler can read.
func demoFile(dir string) (string, error) {
	data := demo.Model()
	path := filepath.Join(dir, demo.Name)
	if old, err := os.ReadFile(path); err == nil && string(old) == string(data) {
		return path, nil
	}
	return path, codegen.WriteFile(path, data)
}

// headerBytes is the size of the beginning of a model that is part of its key.
const headerBytes = 64 << 10

// cacheKey identifies what would be compiled. It covers each input file by size, times and inode, the model also by
// its beginning, the flags, and this ggmlc. Programs cannot set the time of the last change, so a file that is
// written in place gets another key even if its size and modification time are restored.
func (f *buildFlags) cacheKey(model string) (string, error) {
	info, err := os.Stat(model)
	if err != nil {
		advice := "give a GGUF file or a .ggir text"
		if filepath.Ext(model) == "" { // a command of the program, such as bench
			advice += ", or write -- before arguments for the demo"
		}
		return "", fmt.Errorf("%s: %w: %s", model, errors.Unwrap(err), advice)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: not a regular file: give a GGUF file or a .ggir text", model)
	}
	file, err := os.Open(model)
	if err != nil {
		return "", err
	}
	defer file.Close()
	_ = f.readTargets() // the parser reports errors in it
	h := sha256.New()
	abs, _ := filepath.Abs(model)
	flags := f.compileFlags
	flags.json, flags.quiet = false, false // these change what is printed only
	fmt.Fprintf(h, "%s\n%s\n%s\n%+v\n%q\n", selfID(), abs, fileID(info), flags, f.fallback)
	if _, err := io.CopyN(h, file, headerBytes); err != nil && err != io.EOF {
		return "", err
	}
	for _, path := range f.otherFiles(model) {
		if info, err := os.Stat(path); err == nil { // opening it reports a missing file
			fmt.Fprintf(h, "%s\n%s\n", path, fileID(info))
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16]), nil
}

// otherFiles returns what else is read: the other parts of a model, or the files that a text's weights come from; none of
// a text with errors, which the compiler reports.
func (f *buildFlags) otherFiles(model string) []string {
	if filepath.Ext(model) != ".ggir" {
		return gguf.OtherParts(model)
	}
	m, err := driver.ReadText(model)
	if err != nil {
		return nil
	}
	others, _ := parsePairs("--source", f.sources)
	md := &driver.Model{Path: model, Module: m}
	var paths []string
	for _, s := range m.Sources {
		path := cmp.Or(others[s.Name], md.SourcePath(s))
		paths = append(append(paths, path), gguf.OtherParts(path)...)
	}
	return paths
}

// selfID identifies this ggmlc by its version and by its own file, as all builds of a checkout have the same version.
func selfID() string {
	exe, err := os.Executable()
	if err != nil {
		return version()
	}
	info, err := os.Stat(exe)
	if err != nil {
		return version()
	}
	return version() + " " + fileID(info)
}

// fileID returns a text that differs between files, and changes with a file.
func fileID(info fs.FileInfo) string {
	return fmt.Sprintf("%d %d %d %s", info.Size(), info.ModTime().UnixNano(), changeTime(info), inode(info))
}

// programStatus is the exit status of a program that has run and failed.
type programStatus struct{ code int }

func (s *programStatus) Error() string {
	return fmt.Sprintf("the program ended with status %d", s.code)
}

// runProgram runs the executable with this process' input and errors. Its output goes to out.
func runProgram(cmd *cobra.Command, out io.Writer, exe string, args []string) error {
	c := exec.CommandContext(cmd.Context(), exe, args...)
	c.Stdin, c.Stdout, c.Stderr = cmd.InOrStdin(), out, cmd.ErrOrStderr()
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 5 * time.Second
	err := c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &programStatus{max(1, exit.ExitCode())}
	}
	return err
}
