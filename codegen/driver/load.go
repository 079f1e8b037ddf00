package driver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/frontend/tokenizer"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Model is a loaded model: the module as it came from its file, with the files that its
// weights come from. Close it when nothing is read any more.
type Model struct {
	Path   string
	Module *ir.Module

	// Tokenizer holds the serialized tables of the vocabulary; nil where there is none.
	Tokenizer []byte

	// Chat holds the chat templates, as a JSON object of names and templates; nil where there are none.
	Chat []byte

	// Grammar is what the program's text follows, set by Follow: a table or a text. It is nil where there is none.
	Grammar []byte

	files    map[string]*gguf.File // by source name
	imported bool                  // just now, by Load
	targets  *target.List          // those of the last Compile
}

// ggufMagic is what a GGUF file begins with.
const ggufMagic = "GGUF"

// Load reads a GGUF file, or a .ggir text of any level.
func Load(ctx context.Context, path string, o LoadOptions) (*Model, error) {
	magic, err := readMagic(path)
	if err != nil {
		return nil, err
	}
	md := &Model{Path: path, files: make(map[string]*gguf.File)}
	if magic == ggufMagic || filepath.Ext(path) == ".gguf" {
		err = md.loadGGUF(ctx, path, o)
	} else {
		err = md.loadText(ctx, path, o)
	}
	if err != nil {
		md.Close()
		return nil, err
	}
	return md, nil
}

// FromGGUF reports whether the model was imported from a GGUF file, not read from a text.
func (md *Model) FromGGUF() bool { return md.imported }

// Close closes the files.
func (md *Model) Close() error {
	var errs []error
	for _, f := range md.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// readMagic returns the first four bytes. Only regular files are opened: others may block.
func readMagic(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", &codegen.FileError{File: path, Err: errors.Unwrap(err)}
	}
	if !info.Mode().IsRegular() {
		return "", &codegen.FileError{File: path, Err: errors.New("not a regular file: give a GGUF file or a .ggir text")}
	}
	f, err := os.Open(path)
	if err != nil {
		return "", &codegen.FileError{File: path, Err: errors.Unwrap(err)}
	}
	defer f.Close()
	magic := make([]byte, 4)
	n, err := io.ReadFull(f, magic)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return "", &codegen.FileError{File: path, Err: err}
	}
	return string(magic[:n]), nil
}

func (md *Model) loadGGUF(ctx context.Context, path string, o LoadOptions) error {
	f, err := gguf.Open(path)
	if err != nil {
		return err
	}
	md.files[arch.SourceName] = f
	m, err := arch.Build(f, arch.Options{
		Context: o.Context, Batch: o.Batch, Sequences: o.Sequences, KV: o.KV, Quantize: o.Quantize,
		AllLogits: o.AllLogits, Embeddings: o.Embeddings, WholeCache: o.WholeCache, Top: o.Top,
	})
	if err != nil {
		return err
	}
	m.Last = "import"
	md.Module, md.imported = m, true
	if m.LM != nil && tokenizer.Present(f) {
		m.LM.Tokenizer = arch.SourceName
	}
	if m.Encoder != nil && tokenizer.Present(f) {
		m.Encoder.Tokenizer = arch.SourceName
	}
	if err := md.loadTokenizer(); err != nil {
		return err
	}
	// Last, as it reads the whole file: what is wrong with the graph is reported before.
	if m.Sources[0].SHA256, err = hashFile(ctx, f); err != nil {
		return err
	}
	return f.Unchanged()
}

// loadText parses a dump and opens the files that it names, relative to its own folder.
func (md *Model) loadText(ctx context.Context, path string, o LoadOptions) error {
	m, err := ReadText(path)
	if err != nil {
		return err
	}
	md.Module = m
	var errs []error
	for _, s := range m.Sources {
		errs = append(errs, md.openSource(ctx, s, o))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return md.loadTokenizer()
}

// TextError is the faults of a text, each with line and column.
type TextError struct {
	File string
	Err  error
}

func (e *TextError) Error() string { return e.Err.Error() } // names the file
func (e *TextError) Unwrap() error { return e.Err }

// ReadText reads a module in text form, without its sources.
func ReadText(path string) (*ir.Module, error) {
	if _, err := readMagic(path); err != nil { // a device may have no end
		return nil, err
	}
	text, err := os.ReadFile(path)
	switch {
	case err != nil:
		return nil, &codegen.FileError{File: path, Err: errors.Unwrap(err)}
	case len(text) == 0:
		return nil, &codegen.FileError{File: path, Err: errors.New("the file is empty: give a GGUF file or a .ggir text")}
	case bytes.HasPrefix(text, []byte(ggufMagic)):
		return nil, &codegen.FileError{File: path, Err: errors.New("a .ggir text is needed, and this is a GGUF file: ggmlc dump --after import makes a text of it")}
	case bytes.IndexByte(text[:min(len(text), 4096)], 0) >= 0, !moduleLine.Match(text):
		return nil, foreignText(path, text)
	}
	m, err := ir.Parse(path, text)
	if err != nil {
		return nil, &TextError{path, err}
	}
	if err := ir.Verify(m); err != nil {
		return nil, &TextError{path, fmt.Errorf("%s: %w", path, err)}
	}
	if err := oldLanguage(m); err != nil {
		return nil, &TextError{path, fmt.Errorf("%s: %w", path, err)}
	}
	return m, nil
}

// oldLanguage refuses a language model of a text that was written before there was a line
// language: without it the program would generate nothing, for no visible reason.
func oldLanguage(m *ir.Module) error {
	const key = "lm.vocab"
	if m.LM != nil || m.GetMeta(key) == "" {
		return nil
	}
	return fmt.Errorf("meta %q: notes do not make a language model any more: dump the model again, or write a line such as "+
		"language prefill=@prefill(tokens=%%tokens, pos=%%pos, slot=%%slot, lengths=%%lengths, logits=0) decode=@decode(…); without the meta line it is a module without one", key)
}

// moduleLine is what every text of a module has, and hardly another text.
var moduleLine = regexp.MustCompile(`(?m)^[ \t]*(ggir|module|func)[ \t]`)

// targetLine begins a line of a target file.
var targetLine = regexp.MustCompile(`(?m)^[ \t]*target[ \t]`)

// foreignText returns the error for a file that is no model. It is one error, as errors for each line
// would hide that the file is of another kind.
func foreignText(path string, text []byte) error {
	err := fmt.Errorf("neither a GGUF file nor a .ggir text: it begins with %q", text[:min(4, len(text))])
	if targetLine.Match(text) {
		err = errors.New("this is no model but a target file: name it with --target-file")
	}
	return &codegen.FileError{File: path, Err: err}
}

// SourcePath returns where the file of a source is: that which was opened, or the one that
// the text names, relative to its own folder.
func (md *Model) SourcePath(s *ir.Source) string {
	if md.files[s.Name] != nil || filepath.IsAbs(s.Path) {
		return s.Path
	}
	return filepath.Join(filepath.Dir(md.Path), s.Path)
}

// openSource opens a source of a dump and checks that it is the file that was compiled. The size 0, in
// a text that was written by hand, means any file.
func (md *Model) openSource(ctx context.Context, s *ir.Source, o LoadOptions) error {
	path := md.SourcePath(s)
	if p, ok := o.Sources[s.Name]; ok {
		path = p
	}
	if _, err := os.Stat(path); err != nil && o.WithoutWeights {
		return nil
	}
	f, err := gguf.Open(path)
	if err != nil {
		return fmt.Errorf("source %s of %s: %w: name the file with --source %s=PATH", s.Name, md.Path, err, s.Name)
	}
	md.files[s.Name] = f
	s.Path = path
	if s.Size != 0 && f.Size() != s.Size {
		return fmt.Errorf("%s: not the file that %s was made from (%d bytes; wanted %d bytes): name the right one with --source %s=PATH",
			path, md.Path, f.Size(), s.Size, s.Name)
	}
	sum, err := hashFile(ctx, f)
	if err != nil {
		return err
	}
	if s.SHA256 != "" && sum != s.SHA256 {
		return fmt.Errorf("%s: not the file that %s was made from (SHA-256 %.16s…; wanted %.16s…): name the right one with --source %s=PATH",
			path, md.Path, sum, s.SHA256, s.Name)
	}
	s.Size, s.SHA256 = f.Size(), sum // a text that was written by hand may leave them out: from here on it is this file
	return f.Unchanged()
}

// loadTokenizer reads the vocabulary of a language model or an encoder. It has to have an entry for each of
// the logits, or for each row of the embedding, no more and no less.
func (md *Model) loadTokenizer() error {
	m := md.Module
	if e := m.Encoder; e != nil && md.files[e.Tokenizer] != nil {
		rows, err := arch.VocabSize(md.files[e.Tokenizer])
		if err != nil {
			return err
		}
		table, err := tokenizer.Read(md.files[e.Tokenizer], int(rows))
		if err != nil {
			return err
		}
		md.Tokenizer, err = table.Encode()
		return err
	}
	if m.LM == nil || md.files[m.LM.Tokenizer] == nil {
		return nil
	}
	table, err := tokenizer.Read(md.files[m.LM.Tokenizer], int(m.Vocab()))
	if err != nil {
		return err
	}
	if md.Tokenizer, err = table.Encode(); err != nil {
		return err
	}
	md.Chat, err = tokenizer.ChatTemplates(md.files[m.LM.Tokenizer])
	return err
}

// hashFile returns the SHA-256 of a whole file in hex.
func hashFile(ctx context.Context, f *gguf.File) (string, error) {
	h := sha256.New()
	err := copyAll(ctx, h, f.Reader(), f.Name())
	return hex.EncodeToString(h.Sum(nil)), err
}

// copyAll copies the named file in pieces, so that the context is heard.
func copyAll(ctx context.Context, w io.Writer, r io.Reader, name string) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := io.CopyN(w, r, 64<<20)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: reading: %w", name, err)
		}
	}
}

// tensorRows reads a tensor of a GGUF file row by row.
type tensorRows struct {
	file *gguf.File
	t    *gguf.Tensor
	dt   dtype.DType
}

// Tensor implements codegen.Sources.
func (md *Model) Tensor(source, name string) (codegen.Rows, error) {
	f := md.files[source]
	if f == nil {
		return nil, fmt.Errorf("source %q is not there: name the file with --source %s=PATH", source, source)
	}
	t, ok := f.Tensor(name)
	if !ok {
		return nil, f.TensorError(name, "missing: the module names it: use the file that the module was made from")
	}
	dt, err := f.DType(t)
	if err != nil {
		return nil, err
	}
	return tensorRows{f, t, dt}, nil
}

func (r tensorRows) DType() dtype.DType { return r.dt }

func (r tensorRows) Shape() (rows, cols int64) {
	return int64(r.t.Rows()), int64(r.t.Elems() / max(1, r.t.Rows()))
}

func (r tensorRows) ReadRows(ctx context.Context, dst []byte, first, n int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.file.ReadTensor(r.t, first*int64(r.t.RowBytes()), dst)
}

// Unchanged returns an error if a source was written to since Load.
func (md *Model) Unchanged() error {
	var errs []error
	for _, s := range md.Module.Sources {
		if f := md.files[s.Name]; f != nil {
			errs = append(errs, f.Unchanged())
		}
	}
	return errors.Join(errs...)
}
