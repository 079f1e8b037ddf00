package driver

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
)

// Files of a generated package besides those that codegen emits.
const (
	ModelText   = "model.ggir"  // the module as imported, from which Check recompiles
	WeightsBlob = "weights.bin" // embedded, or read beside the program
)

// metaVocabulary is the metadata key that holds the tokenizer's tables in model.ggir, so
// that a package can be recompiled without the model file. metaWeightsHash holds the hash
// of the packed weights, metaWeights where they are.
const (
	metaVocabulary  = "asset.tokenizer"
	metaWeightsHash = "weights.sha256"
	metaWeights     = "weights.where"
)

// Gen compiles an imported model and writes it as a Go package into the folder o.Out.
func Gen(ctx context.Context, md *Model, co CompileOptions, o OutputOptions) (err error) {
	if err := os.MkdirAll(o.Out, 0o777); err != nil {
		return fmt.Errorf("%s: cannot be made: %w: choose another -o", o.Out, errors.Unwrap(err))
	}
	defer func() {
		if err != nil {
			os.Remove(o.Out) // if it is empty, that is
		}
	}()
	imported := md.Module.Clone()
	if _, err := Compile(ctx, md, co); err != nil {
		return fmt.Errorf("%s: %w", md.Path, err)
	}
	return generate(ctx, imported, md, o)
}

// generate packs the weights of a compiled module and writes the package.
func generate(ctx context.Context, imported *ir.Module, md *Model, o OutputOptions) error {
	w, err := packWeights(ctx, md, o.Out, o)
	if err != nil {
		return err
	}
	defer w.remove()
	where := w.where(o)
	if where == codegen.Append { // a package has no end to append to
		where, o.WeightsFile = codegen.File, filepath.Join(o.Out, WeightsBlob)
	}
	text, err := portable(imported, md, o, w, where)
	if err != nil {
		return err
	}
	pkg, planID, err := emit(md, o, o.Package, w, where)
	if err != nil {
		return err
	}
	pkg.Files = append(pkg.Files, codegen.SourceFile{Name: ModelText, Data: []byte(text)})
	if err := writePackage(o.Out, pkg); err != nil {
		return err
	}
	if where == codegen.File {
		return w.keep(o.WeightsFile, planID)
	}
	if err := os.Chmod(w.path, 0o644); err != nil {
		return err
	}
	return os.Rename(w.path, filepath.Join(o.Out, WeightsBlob))
}

// portable returns the text of the imported module with everything that Check needs
// beside it.
func portable(m *ir.Module, md *Model, o OutputOptions, w *blob, where codegen.Where) (string, error) {
	for _, s := range m.Sources {
		if rel, err := relative(o.Out, s.Path); err == nil {
			s.Path = rel
		}
	}
	if md.Tokenizer != nil {
		m.SetMeta(metaVocabulary, base64.StdEncoding.EncodeToString(md.Tokenizer))
	}
	m.SetMeta(metaWeightsHash, fmt.Sprintf("%x", w.hash))
	m.SetMeta(metaWeights, whereNames[where])
	if where == codegen.File {
		m.SetMeta(metaWeights, whereNames[where]+":"+filepath.Base(o.WeightsFile))
	}
	return m.String(), nil
}

var whereNames = [...]string{codegen.Embed: "embed", codegen.Append: "append", codegen.File: "file"}

// relative returns path relative to dir, with slashes.
func relative(dir, path string) (string, error) {
	absDir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	absPath, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(absDir, absPath)
	return filepath.ToSlash(rel), err
}

// RelativeSources makes the sources' paths relative to the folder that dumps are written
// to, as dumps name them.
func RelativeSources(md *Model, dir string) error {
	for _, s := range md.Module.Sources {
		rel, err := relative(dir, s.Path)
		if err != nil {
			return err
		}
		s.Path = rel
	}
	return nil
}

// writePackage writes the files of a package, each under its name only when it is whole.
func writePackage(dir string, p *codegen.Package) error {
	for _, f := range p.Files {
		if err := codegen.WriteFile(filepath.Join(dir, f.Name), f.Data); err != nil {
			return err
		}
	}
	return nil
}

// Check recompiles the package in o.Out from its model.ggir, loaded without the weights
// (no decision depends on their values), and returns a diff; empty if the package is
// current.
func Check(ctx context.Context, md *Model, co CompileOptions, o OutputOptions) (diff string, err error) {
	w, where, err := takeAssets(md, &o)
	if err != nil {
		return "", fmt.Errorf("%s: %w: run ggmlc gen again", md.Path, err)
	}
	if _, err := Compile(ctx, md, co); err != nil {
		return "", fmt.Errorf("%s: %w", md.Path, err)
	}
	w.size = codegen.WeightsBytes(md.Module)
	pkg, _, err := emit(md, o, o.Package, w, where)
	if err != nil {
		return "", err
	}
	return comparePackage(o.Out, pkg)
}

// takeAssets takes what portable added out of the module again.
func takeAssets(md *Model, o *OutputOptions) (*blob, codegen.Where, error) {
	m := md.Module
	w := &blob{}
	hash, err := hex.DecodeString(m.GetMeta(metaWeightsHash))
	if err != nil || len(hash) != len(w.hash) {
		return nil, 0, errors.New("it lacks the hash of the weights")
	}
	copy(w.hash[:], hash)
	name, file, _ := strings.Cut(m.GetMeta(metaWeights), ":")
	where := slices.Index(whereNames[:], name)
	if where < 0 {
		return nil, 0, errors.New("it does not say where the weights are")
	}
	if file != "" {
		o.WeightsFile = filepath.Join(o.Out, file)
	}
	if v := m.GetMeta(metaVocabulary); v != "" {
		tables, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			return nil, 0, fmt.Errorf("its vocabulary is damaged: %w", err)
		}
		md.Tokenizer = tables
	}
	m.Meta = slices.DeleteFunc(m.Meta, func(kv ir.Meta) bool {
		return kv.Key == metaVocabulary || kv.Key == metaWeightsHash || kv.Key == metaWeights
	})
	return w, codegen.Where(where), nil
}

// comparePackage returns the difference between a folder and what it should hold.
func comparePackage(dir string, p *codegen.Package) (string, error) {
	var b strings.Builder
	for _, f := range p.Files {
		have, err := os.ReadFile(filepath.Join(dir, f.Name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		if string(have) == string(f.Data) {
			continue
		}
		fmt.Fprintf(&b, "%s (- in the folder, + what the compiler gives):\n%s\n", f.Name,
			cmp.Diff(strings.Split(string(have), "\n"), strings.Split(string(f.Data), "\n")))
	}
	return b.String(), nil
}
