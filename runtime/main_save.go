package runtime

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// load continues the sequence of --load. It reports before the work that --save is not possible.
func (g *generateCommand) load(s *Session) error {
	if g.saveTo != "" {
		if err := s.holdState(); err != nil {
			return fmt.Errorf("--save %s: %w", g.saveTo, err)
		}
		s.busy.Store(false)
	}
	if g.loadFrom == "" {
		return nil
	}
	f, err := os.Open(g.loadFrom)
	if err != nil {
		return fileError(g.loadFrom, err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	if err := s.Load(r); err != nil {
		return fmt.Errorf("%s: %w", g.loadFrom, err)
	}
	if _, err := r.ReadByte(); err != io.EOF {
		return fmt.Errorf("%s: %w", g.loadFrom, savedError("something was appended to it: it is damaged"))
	}
	if len(s.pending) == 0 && !g.hasPrompt && g.tokens == "" {
		return usagef("--load %s: it ends with a prompt of which the next token was not chosen: give --prompt TEXT or --tokens 1,2,3", g.loadFrom)
	}
	return nil
}

// save writes the sequence to the file of --save, also after an interrupt or at the end of the context. It returns
// the error of generation, and that of writing.
func (g *generateCommand) save(s *Session, err error) error {
	if g.saveTo == "" || err != nil && !errors.Is(err, ErrCancelled) && !errors.Is(err, ErrContextFull) {
		return err
	}
	return errors.Join(err, writeWhole(g.saveTo, func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<20)
		return errors.Join(s.Save(b), b.Flush())
	}))
}

// canWrite reports a file that cannot be written, before the work.
func canWrite(path string) error {
	if _, err := replaceable(path); err != nil {
		return fmt.Errorf("--save %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".ggmlc-*")
	if err != nil {
		return fmt.Errorf("--save %s: cannot be written: %w", path, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
