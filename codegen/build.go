package codegen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/ggmlc/ggmlc/runtime"
)

// BuildOptions describe the executable that is built from an emitted package.
type BuildOptions struct {
	Out          string // path of the executable
	GOOS, GOARCH string // empty: those of this process' environment

	// WeightsFile holds the bytes that PackWeights wrote, WeightsSize of them. With Embed
	// they become part of the program, with Append they follow it.
	WeightsFile string
	WeightsSize int64
	Weights     Where
	WeightsHash [32]byte
	PlanID      string

	// Fallback are the weights of the package's fallback, with the same place; nil if it has none.
	Fallback *Packed

	Race bool     // build with the race detector (needs cgo); for tests
	Tags []string // build tags, such as purego
}

// Build compiles an emitted package main to an executable. The build is hermetic: the
// sources of runtime and kernels travel in ggmlc, neither network nor module cache nor
// the caller's Go settings are read, and equal input gives equal bytes. The executable
// appears under its name only when it is complete.
func Build(ctx context.Context, p *Package, o BuildOptions) error {
	return buildTree(ctx, o, func(dir string) error { return writeBuildTree(dir, p, o) })
}

// TempFolder makes a folder for temporary files, whose name begins with the prefix.
func TempFolder(prefix string) (string, error) {
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", fmt.Errorf("no folder for temporary files can be made: %w: let TMPDIR (TMP under Windows) name a folder of yours", err)
	}
	return dir, nil
}

// buildTree is Build for the package in the folder that write fills.
func buildTree(ctx context.Context, o BuildOptions, write func(dir string) error) (err error) {
	dir, err := TempFolder("ggmlc-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := write(dir); err != nil {
		return err
	}

	tmp, err := reserve(o.Out)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(tmp)
		}
	}()
	if err := goBuild(ctx, dir, tmp, o); err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if o.Weights == Append {
		if err := o.appendAll(ctx, tmp); err != nil {
			return err
		}
	}
	return os.Rename(tmp, o.Out)
}

// appendAll writes the weights after the executable: first those of the fallback.
func (o *BuildOptions) appendAll(ctx context.Context, exe string) error {
	own, before := Packed{o.WeightsFile, o.WeightsSize, o.WeightsHash, o.PlanID}, int64(0)
	if o.Fallback != nil && o.Fallback.Size > 0 {
		if err := appendWeights(ctx, exe, *o.Fallback, 0); err != nil {
			return err
		}
		st, err := os.Stat(exe)
		if err != nil {
			return err
		}
		before = st.Size()
	}
	if own.Size == 0 {
		return nil
	}
	return appendWeights(ctx, exe, own, before)
}

// reserve makes an empty temporary file in the folder of path, so that a missing or read-only
// folder is reported before the build.
func reserve(path string) (string, error) {
	if special(path) {
		return "", notRegular(path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return "", &FileError{path, fmt.Errorf("cannot be written: %w: choose another path", errors.Unwrap(err))}
	}
	return f.Name(), f.Close()
}

// notRegular is the error of an output that is a folder, or a device.
func notRegular(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return &FileError{path, errors.New("this is a folder: name a file, such as one in it")}
	}
	return &FileError{path, errors.New("not a regular file: renaming over it would destroy it: choose another path")}
}

// Writable returns an error for each path at which no file can be made, so that this is
// known before the work. Empty paths are left out.
func Writable(paths ...string) error {
	var errs []error
	for _, path := range paths {
		if path == "" {
			continue
		}
		tmp, err := reserve(path)
		if err == nil {
			err = os.Remove(tmp)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// special reports whether path is a device, pipe or folder, which a rename must not replace.
func special(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular()
}

// Device reports whether path is a device or pipe, such as /dev/stdout: something to write
// to, not to replace.
func Device(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// writeBuildTree writes a module for the package, and the sources of this module as its dependency.
func writeBuildTree(dir string, p *Package, o BuildOptions) error {
	if err := WriteSources(filepath.Join(dir, "ggmlc")); err != nil {
		return err
	}
	mod, sum := buildGoMod, ""
	if p.drives {
		mod, sum = mod+DriverMod, DriverSum
	}
	for _, b := range p.backends {
		if err := writeBackend(filepath.Join(dir, backendFolder(b)), b); err != nil {
			return err
		}
		mod += fmt.Sprintf("\nrequire %s %s\n\nreplace %s => ./%s\n", b.Module, anyVersion(b.Module), b.Module, backendFolder(b))
	}
	files := append([]SourceFile{{"go.mod", []byte(mod)}, {"go.sum", []byte(sum)}}, p.Files...)
	if err := writeFiles(dir, files); err != nil {
		return err
	}
	if o.Weights != Embed {
		return nil
	}
	var errs []error
	if o.WeightsSize > 0 {
		errs = append(errs, linkOrCopy(o.WeightsFile, filepath.Join(dir, weightsFile)))
	}
	if w := o.Fallback; w != nil && w.Size > 0 {
		errs = append(errs, linkOrCopy(w.File, filepath.Join(dir, fallbackFolder, weightsFile)))
	}
	return errors.Join(errs...)
}

// writeFiles writes files into a folder, and the folders that their names have.
func writeFiles(dir string, files []SourceFile) error {
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

const buildGoMod = `module program

go ` + goVersion + `

require ` + ModulePath + ` v0.0.0

replace ` + ModulePath + ` => ./ggmlc
`

// Programs with backends that a driver runs call it through purego. Its source has to be in the module cache, where
// installing ggmlc does not put it: ggmlc does not link it.
const (
	puregoModule  = "github.com/ebitengine/purego"
	puregoVersion = "v0.11.3"
)

// DriverMod and DriverSum are what go.mod and go.sum of a program for GPUs have besides the module of the runtime.
const (
	DriverMod = `
require ` + puregoModule + ` ` + puregoVersion + `
`
	DriverSum = puregoModule + " " + puregoVersion + " h1:OB+JLpdm7ioymhyA+6s5kbb/uOuYycAgL8NNTFc5MLg=\n" + puregoModule + " " + puregoVersion + "/go.mod h1:DCHPP08djqhNSoTfImcnHYQRZmd0qhakvrozqaEYhGQ=\n"
)

// linkOrCopy gives a file a second name, or copies it where links are not possible.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// goBuild runs the Go command with settings of its own.
func goBuild(ctx context.Context, dir, out string, o BuildOptions) error {
	goCmd, err := exec.LookPath("go")
	if err != nil {
		return errors.New("no Go command found: install Go " + goVersion + " or later, and put its bin folder into PATH")
	}
	abs, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", abs}
	if o.Race {
		args = append(args, "-race")
	}
	if len(o.Tags) > 0 {
		args = append(args, "-tags="+strings.Join(o.Tags, ","))
	}
	cmd := exec.CommandContext(ctx, goCmd, append(args, ".")...)
	cmd.Dir = dir
	cmd.Env = buildEnv(o, dir)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return buildError(err, output.String())
	}
	return nil
}

// buildError returns the error for a build that failed with some output.
func buildError(err error, output string) error {
	if strings.Contains(output, puregoModule) && strings.Contains(output, "GOPROXY=off") {
		return fmt.Errorf("programs for GPUs need the source of %s, and it is not in the module cache: run go mod download %s@%s", puregoModule, puregoModule, puregoVersion)
	}
	return &BuildError{Err: err, Output: output}
}

// BuildError reports that the Go command refused an emitted package.
type BuildError struct {
	Err    error
	Output string // of the Go command
}

func (e *BuildError) Error() string {
	return fmt.Sprintf("go build failed: %v\n%s", e.Err, strings.TrimSpace(e.Output))
}

func (e *BuildError) Unwrap() error { return e.Err }

// appendWeights writes weights after the executable, at a boundary, and then the trailer. before is where that of other
// weights ends; 0 if there are none.
func appendWeights(ctx context.Context, exe string, w Packed, before int64) error {
	out, err := os.OpenFile(exe, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	end, err := out.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	offset := (end + runtime.WeightsBoundary - 1) / runtime.WeightsBoundary * runtime.WeightsBoundary
	if err := out.Truncate(offset); err != nil {
		return err
	}
	if _, err := out.Seek(offset, io.SeekStart); err != nil {
		return err
	}
	if err := copyFile(ctx, out, offset, w.File, w.Size); err != nil {
		return err
	}
	trailer := runtime.AppendTrailer(nil, runtime.Trailer{Offset: offset, Length: w.Size, Before: before, PlanID: w.PlanID, SHA256: w.Hash})
	if _, err := out.Write(trailer); err != nil {
		return err
	}
	return out.Close()
}

// copyFile writes size bytes of a file to out, whose position is at. The pieces end where huge pages
// do. Between two pieces a canceled context ends the copy.
func copyFile(ctx context.Context, out io.Writer, at int64, path string, size int64) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	buf := make([]byte, hugePage)
	for end := at + size; at < end; {
		if err := ctx.Err(); err != nil {
			return err
		}
		piece := buf[:min(untilHugePage(at), end-at)]
		if _, err := io.ReadFull(in, piece); err != nil {
			return fmt.Errorf("appending the weights: %w", err)
		}
		if _, err := out.Write(piece); err != nil {
			return fmt.Errorf("appending the weights: %w", err)
		}
		at += int64(len(piece))
	}
	return nil
}

// WeightsTrailer returns what follows the weights in a weights file.
func WeightsTrailer(size int64, planID string, hash [32]byte) []byte {
	return runtime.AppendTrailer(nil, runtime.Trailer{Length: size, PlanID: planID, SHA256: hash})
}

// FinishWeightsFile makes a file that holds packed weights one that programs accept: the
// trailer is appended.
func FinishWeightsFile(path string, size int64, planID string, hash [32]byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(WeightsTrailer(size, planID, hash))
	return errors.Join(err, f.Close())
}

// WeightsWritable returns an error for a file that exists and that weights must not replace: anything but an empty file
// and the weights file of an earlier program. An executable that carries weights is no weights file.
func WeightsWritable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // there is none, or making it reports why not
	}
	if !info.Mode().IsRegular() {
		return notRegular(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return &FileError{path, fmt.Errorf("the file exists and cannot be read: %w: name another one, or remove it", errors.Unwrap(err))}
	}
	defer f.Close()
	for end := info.Size(); end > 0; {
		t, err := runtime.ReadTrailer(f, end)
		if err != nil || t.Before == 0 && t.Offset > 0 {
			return &FileError{path, errors.New("the file exists and is no weights file of ggmlc: name another one, or remove it")}
		}
		end = t.Before
	}
	return nil
}

// WriteFile writes a file under its name only when it is complete. To a device or pipe,
// such as /dev/stdout, it just writes.
func WriteFile(path string, data []byte) error {
	if Device(path) {
		return os.WriteFile(path, data, 0o644)
	}
	var s Stage
	defer s.Discard()
	if err := s.Write(path, data); err != nil {
		return err
	}
	return s.Commit()
}

// Stage holds files that are complete but not yet under their names. The zero value is
// empty.
type Stage struct{ files []stagedFile }

type stagedFile struct{ tmp, path string }

// Write stages a file with these bytes.
func (s *Stage) Write(path string, data []byte) error {
	tmp, err := reserve(path)
	if err != nil {
		return err
	}
	s.files = append(s.files, stagedFile{tmp, path})
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return err
	}
	return os.Chmod(tmp, 0o644)
}

// Add stages the file tmp, which is in the same file system as path.
func (s *Stage) Add(tmp, path string) error {
	if special(path) {
		return notRegular(path)
	}
	s.files = append(s.files, stagedFile{tmp, path})
	return os.Chmod(tmp, 0o644)
}

// Commit gives the files their names, in the order in which they were staged.
func (s *Stage) Commit() error {
	for len(s.files) > 0 {
		if err := os.Rename(s.files[0].tmp, s.files[0].path); err != nil {
			return err
		}
		s.files = s.files[1:]
	}
	return nil
}

// Discard removes what was not committed.
func (s *Stage) Discard() {
	for _, f := range s.files {
		os.Remove(f.tmp)
	}
	s.files = nil
}
