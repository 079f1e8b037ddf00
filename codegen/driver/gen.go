package driver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/frontend/tokenizer"
	"github.com/ggmlc/ggmlc/ir"
)

// Files of a generated package that codegen does not emit.
const (
	ModelText   = "model.ggir"  // the module as imported, from which Check recompiles
	WeightsBlob = "weights.bin" // embedded, or read from the folder of the program
)

// metaVocabulary is the metadata key that holds the tokenizer's tables in model.ggir, so
// that a package can be recompiled without the model file. metaWeightsHash holds the hash
// of the packed weights, metaWeights where they are: a file's path is relative to the folder.
// metaPackage holds the package's name, metaFrom the model's files as the code's header names them.
const (
	metaVocabulary  = "asset.tokenizer"
	metaChat        = "asset.chat"
	metaGrammar     = "asset.grammar"
	metaWeightsHash = "weights.sha256"
	metaWeights     = "weights.where"
	metaPackage     = "package"
	metaFrom        = "package.from"
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
	where := w.where(o, 0)
	if where == codegen.Append { // a package has no end to append to
		where, o.WeightsFile = codegen.File, filepath.Join(o.Out, WeightsBlob)
	}
	o.from = sourcesText(imported, o.Out)
	text, err := portable(imported, md, o, w, where)
	if err != nil {
		return err
	}
	pkg, planID, err := emit(md, o, o.Package, w, where)
	if err != nil {
		return err
	}
	pkg.Files = append(pkg.Files, codegen.SourceFile{Name: ModelText, Data: []byte(text)})
	if err := replacePackage(o, pkg, w, where, planID); err != nil {
		return err
	}
	var bytes int64
	for _, f := range pkg.Files {
		bytes += int64(len(f.Data))
	}
	if where == codegen.Embed {
		bytes += w.size
	}
	return o.done(md, planID, where, bytes)
}

// replacePackage writes a package over the one that is there. All is written under
// temporary names first, so that a failure leaves the old package whole.
func replacePackage(o OutputOptions, pkg *codegen.Package, w *blob, where codegen.Where, planID string) error {
	old, err := readFolder(o, pkg)
	if err != nil {
		return err
	}
	weights := filepath.Join(o.Out, WeightsBlob)
	if where == codegen.File {
		weights = o.WeightsFile
		if err := codegen.FinishWeightsFile(w.path, w.size, planID, w.hash); err != nil {
			return err
		}
	}
	var s codegen.Stage
	defer s.Discard()
	if err := s.Add(w.path, weights); err != nil { // before the code: it wants these
		return err
	}
	for _, f := range pkg.Files {
		if err := s.Write(filepath.Join(o.Out, f.Name), f.Data); err != nil {
			return err
		}
	}
	if err := s.Commit(); err != nil {
		return err
	}
	return old.removeUnused(pkg, weights)
}

// portable returns the text of the imported module, and everything else that Check needs.
func portable(m *ir.Module, md *Model, o OutputOptions, w *blob, where codegen.Where) (string, error) {
	for _, s := range m.Sources {
		if rel, err := relative(o.Out, s.Path); err == nil {
			s.Path = rel
		}
	}
	if md.Tokenizer != nil {
		m.SetMeta(metaVocabulary, base64.StdEncoding.EncodeToString(md.Tokenizer))
	}
	if md.Chat != nil {
		m.SetMeta(metaChat, base64.StdEncoding.EncodeToString(md.Chat))
	}
	if md.Grammar != nil {
		m.SetMeta(metaGrammar, base64.StdEncoding.EncodeToString(md.Grammar))
	}
	m.SetMeta(metaWeightsHash, fmt.Sprintf("%x", w.hash))
	m.SetMeta(metaWeights, whereNames[where])
	m.SetMeta(metaPackage, o.Package)
	m.SetMeta(metaFrom, o.from)
	if where == codegen.File {
		rel, err := relative(o.Out, o.WeightsFile)
		if err != nil {
			return "", err
		}
		m.SetMeta(metaWeights, whereNames[where]+":"+rel)
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

// Check recompiles the package in o.Out from its model.ggir, loaded without the sources of
// the weights (no decision depends on their values), and returns what differs, the packed
// weights included; empty if the package is current. Without o.Package the package has the
// name that it was generated with.
func Check(ctx context.Context, md *Model, co CompileOptions, o OutputOptions) (differs string, err error) {
	w, where, err := takeAssets(md, &o)
	if err != nil {
		return "", fmt.Errorf("%s: %w: run ggmlc gen again", md.Path, err)
	}
	if _, err := Compile(ctx, md, co); err != nil {
		return "", fmt.Errorf("%s: %w", md.Path, err)
	}
	w.size = codegen.WeightsBytes(md.Module)
	pkg, planID, err := emit(md, o, o.Package, w, where)
	if err != nil {
		return "", err
	}
	code, err := comparePackage(o.Out, pkg)
	if err != nil {
		return "", err
	}
	weights, err := compareWeights(ctx, o, w, where, planID)
	return code + weights, err
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
		return nil, 0, errors.New("it does not state where the weights are")
	}
	o.from = m.GetMeta(metaFrom)
	if file != "" {
		o.WeightsFile = filepath.Join(o.Out, filepath.FromSlash(file))
	}
	if o.Package = cmp.Or(o.Package, m.GetMeta(metaPackage)); o.Package == "" {
		return nil, 0, errors.New("it does not state the package's name")
	}
	if err := codegen.CheckPackageName(o.Package); err != nil {
		return nil, 0, fmt.Errorf("its package is called %w", err)
	}
	if v := m.GetMeta(metaVocabulary); v != "" {
		tables, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			return nil, 0, fmt.Errorf("its vocabulary is damaged: %w", err)
		}
		if err := fitsVocab(m, string(tables)); err != nil {
			return nil, 0, fmt.Errorf("its vocabulary is damaged: %w", err)
		}
		md.Tokenizer = tables
	}
	if v := m.GetMeta(metaChat); v != "" {
		if md.Chat, err = base64.StdEncoding.DecodeString(v); err != nil {
			return nil, 0, fmt.Errorf("its chat templates are damaged: %w", err)
		}
	}
	if v := m.GetMeta(metaGrammar); v != "" {
		if md.Grammar, err = base64.StdEncoding.DecodeString(v); err != nil {
			return nil, 0, fmt.Errorf("its grammar is damaged: %w", err)
		}
	}
	m.Meta = slices.DeleteFunc(m.Meta, func(kv ir.Meta) bool {
		return slices.Contains([]string{metaVocabulary, metaChat, metaGrammar, metaWeightsHash, metaWeights, metaPackage, metaFrom}, kv.Key)
	})
	return w, codegen.Where(where), nil
}

// fitsVocab checks that the tables of a tokenizer have as many ids as the module has logits.
func fitsVocab(m *ir.Module, tables string) error {
	ids, err := tokenizer.Size(tables)
	switch {
	case err != nil:
		return err
	case m.Encoder != nil && m.Encoder.Tokenizer != "":
		return nil // the runtime compares ids with the rows of the embedding
	case m.LM == nil || m.LM.Tokenizer == "":
		return errors.New("the module has no language model with a tokenizer")
	case int64(ids) != m.Vocab():
		return fmt.Errorf("it has %d ids, and the module %d logits", ids, m.Vocab())
	}
	return nil
}

// compareWeights returns what is wrong with the weights of a package. Nothing is wrong if they have
// the recorded hash, or are missing: large weights are seldom checked in, and no decision depends
// on them.
func compareWeights(ctx context.Context, o OutputOptions, w *blob, where codegen.Where, planID string) (string, error) {
	path := filepath.Join(o.Out, WeightsBlob)
	var end []byte
	if where == codegen.File {
		path = o.WeightsFile
		end = codegen.WeightsTrailer(w.size, planID, w.hash)
	}
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if err := copyAll(ctx, h, io.NewSectionReader(f, 0, w.size), path); err != nil {
		return "", err
	}
	if sum := h.Sum(nil); !bytes.Equal(sum, w.hash[:]) {
		return fmt.Sprintf("%s: other weights: SHA-256 %.16x…, recorded is %.16x…\n", path, sum, w.hash), nil
	}
	rest, err := io.ReadAll(io.NewSectionReader(f, w.size, int64(len(end))+1))
	if err == nil && !bytes.Equal(rest, end) {
		return fmt.Sprintf("%s: what follows the weights is not what the compiler writes\n", path), nil
	}
	return "", err
}
