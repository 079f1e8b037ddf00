// Package driver joins frontend, passes and codegen: what package cmd and other programs
// call to compile a model.
package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/readback"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// LoadOptions describe how the graph of a model is made from its file.
type LoadOptions struct {
	Context, Batch int
	Sequences      int               // 0: 1
	KV             dtype.DType       // Invalid: F16
	Quantize       dtype.DType       // Invalid: keep the weights as they are
	AllLogits      bool              // prefill returns the logits after each token
	Embeddings     bool              // prefill returns the state of each token
	WholeCache     bool              // layers with a sliding window keep all positions
	Top            int               // a step for one token may return so many most probable ones in place of all logits; 0: no
	Sources        map[string]string // paths that take the place of those in a dump

	// WithoutWeights allows sources to be absent: enough to plan, not to build.
	WithoutWeights bool
}

// OutputOptions describe what is written for a compiled model.
type OutputOptions struct {
	Compiler    string   // "ggmlc" and its version
	Out         string   // the executable, or the folder of a package
	Package     string   // Go package of Gen
	Metafile    string   // path of the manifest; empty for none
	WeightsFile string   // keep the weights in this file; empty: embed or append them
	CPU         []string // the implementations that the program is limited to; empty: all
	Profile     bool     // with hooks for the program's --profile
	Fallback    *Model   // compiled, runs where the model's devices cannot be opened; nil for none. Only Build reads it

	GOOS, GOARCH string
	Tags         []string
	Race         bool

	Progress func(done, total int64) // bytes of weights packed; nil for none
	Building func()                  // called by Build before it calls Go; nil for none
	Done     func(Result)            // called when everything is written; nil for none

	from string // the model's files as a package's header names them
}

// embedLimit is the largest blob that go:embed carries; larger ones are appended, since
// embedded bytes are copied at start and pass through the Go linker.
const embedLimit = 64 << 20

// Build makes an executable of a compiled model.
func Build(ctx context.Context, md *Model, o OutputOptions) error {
	outputs := []string{o.Out, o.WeightsFile}
	if !codegen.Device(o.Metafile) {
		outputs = append(outputs, o.Metafile)
	}
	if err := codegen.Writable(outputs...); err != nil {
		return err
	}
	w, err := packWeights(ctx, md, filepath.Dir(o.Out), o)
	if err != nil {
		return err
	}
	defer w.remove()
	second, err := packFallback(ctx, o)
	if err != nil {
		return err
	}
	defer second.remove()
	where := w.where(o, second.bytes())
	pkg, planID, err := emit(md, o, "main", w, where)
	if err != nil {
		return err
	}
	pkg, packed, err := second.join(pkg, o, where)
	if err != nil {
		return err
	}
	if o.Building != nil {
		o.Building()
	}
	err = codegen.Build(ctx, pkg, codegen.BuildOptions{
		Out: o.Out, GOOS: o.GOOS, GOARCH: o.GOARCH, Tags: o.Tags, Race: o.Race,
		WeightsFile: w.path, WeightsSize: w.size, Weights: where, WeightsHash: w.hash, PlanID: planID, Fallback: packed,
	})
	if err != nil {
		return err
	}
	if where == codegen.File {
		if err := w.keep(ctx, o.WeightsFile, planID, packed); err != nil {
			return err
		}
	}
	if err := writeMetafile(md, o, planID, w); err != nil {
		return err
	}
	return o.done(md, planID, where, 0)
}

// emit returns the source of a compiled model.
func emit(md *Model, o OutputOptions, pkg string, w *blob, where codegen.Where) (*codegen.Package, string, error) {
	planID, err := codegen.PlanID(md.Module)
	if err != nil {
		return nil, "", err
	}
	p, err := emitSafely(md.Module, codegen.Options{
		Package: pkg, Compiler: o.Compiler, Name: md.Module.Name, From: o.from, Tokenizer: md.Tokenizer, Chat: md.Chat, Grammar: md.Grammar,
		Weights: where, WeightsFile: filepath.Base(o.WeightsFile), WeightsHash: w.hash, PlanID: planID, CPU: o.CPU, Profile: o.Profile,
		Targets: md.targets,
	})
	return p, planID, err
}

// blob is the packed weights in a temporary file.
type blob struct {
	path string
	size int64
	hash [32]byte
}

// checkTargets refuses a plan that no program can have. Memory in more pieces than programs allocate is a budget.
func checkTargets(md *Model) error {
	err := codegen.CheckTargets(md.Module, md.targets)
	var piece *codegen.PieceError
	switch {
	case errors.As(err, &piece):
		return &pass.BudgetError{Name: fmt.Sprintf("%s of the space %s", piece.Class, piece.Space), Need: piece.Need, Limit: piece.Limit, Own: true, Advice: piece.Advice()}
	case err != nil:
		return &OptionError{err}
	}
	return nil
}

// packWeights writes the weights to a temporary file in dir, which is where the output
// goes, or where the weights file goes: so renaming is possible and a full disk is noticed
// there.
func packWeights(ctx context.Context, md *Model, dir string, o OutputOptions) (b *blob, err error) {
	if err := checkTargets(md); err != nil {
		return nil, err
	}
	if err := codegen.CheckInputs(md.Module); err != nil {
		return nil, md.blame(err)
	}
	flag := "-o"
	if o.WeightsFile != "" {
		dir, flag = filepath.Dir(o.WeightsFile), "--weights"
		if err := codegen.WeightsWritable(o.WeightsFile); err != nil {
			return nil, optionf("--weights %w", err)
		}
	}
	f, err := os.CreateTemp(dir, ".ggmlc-weights-*")
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be written: %w: choose another %s", dir, errors.Unwrap(err), flag)
	}
	b = &blob{path: f.Name()}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			b.remove()
		}
	}()
	total := codegen.WeightsBytes(md.Module)
	var progress func(int64)
	if o.Progress != nil {
		progress = func(done int64) { o.Progress(done, total) }
	}
	if b.hash, err = codegen.PackWeights(ctx, md.Module, md, f, progress); err != nil {
		return b, md.blame(err)
	}
	b.size = total
	if err := md.checkWeights(ctx, f); err != nil {
		return b, err
	}
	return b, md.Unchanged()
}

// checkWeights reads packed weights back: see package readback.
func (md *Model) checkWeights(ctx context.Context, packed io.ReaderAt) error {
	err := readback.CheckWeights(ctx, md.Module, func(source, tensor string) (readback.Rows, error) { return md.Tensor(source, tensor) }, packed)
	var differs *readback.Error
	if errors.As(err, &differs) {
		return emitterBug(md.Module, err, "")
	}
	if err != nil {
		return md.blame(err)
	}
	return nil
}

// blame adds the model's path to an error about a weight, where no file is named yet.
func (md *Model) blame(err error) error {
	var inFile *gguf.Error
	var outside *fs.PathError
	if errors.As(err, &inFile) || errors.As(err, &outside) || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%s: %w", md.Path, err)
}

func (b *blob) remove() { os.Remove(b.path) }

// where decides how the program carries the weights, and as many others.
func (b *blob) where(o OutputOptions, others int64) codegen.Where {
	switch {
	case o.WeightsFile != "":
		return codegen.File
	case b.size+others <= embedLimit:
		return codegen.Embed
	}
	return codegen.Append
}

// keep makes the temporary file the weights file that a program names, with the weights of its fallback if not nil.
func (b *blob) keep(ctx context.Context, path, planID string, fallback *codegen.Packed) error {
	file, err := codegen.FinishWeightsFiles(ctx, codegen.Packed{File: b.path, Size: b.size, Hash: b.hash, PlanID: planID}, fallback)
	if err != nil {
		return err
	}
	if err := os.Chmod(file, 0o644); err != nil {
		return err
	}
	return os.Rename(file, filepath.Clean(path)) // in the folder of the temporary file
}

func writeMetafile(md *Model, o OutputOptions, planID string, b *blob) error {
	if o.Metafile == "" {
		return nil
	}
	mf := codegen.NewManifest(md.Module, md.targets)
	mf.Compiler, mf.PlanID = o.Compiler, planID
	mf.Weights = &codegen.ManifestBlob{Bytes: b.size, SHA256: fmt.Sprintf("%x", b.hash)}
	data, err := mf.JSON()
	if err != nil {
		return err
	}
	return codegen.WriteFile(o.Metafile, data)
}
