package runtime

import (
	"errors"
	"io/fs"
	"os"
)

// traceFile is a file that is opened at start and written at the end. It keeps what it has until the first write.
type traceFile struct {
	file    *os.File
	made    bool // it did not exist
	written bool
}

// createTraces opens the files of --profile and --timeline, so that what cannot be written is known before the run. A
// file that is not wanted is nil.
func (c *cli) createTraces() (profile, timeline *traceFile, err error) {
	if profile, err = createTrace(c.profile); err != nil {
		return nil, nil, err
	}
	if timeline, err = createTrace(c.timeline); err != nil {
		return nil, nil, errors.Join(err, profile.close())
	}
	return profile, timeline, nil
}

// createTrace opens a file; nil without a name.
func createTrace(name string) (*traceFile, error) {
	if name == "" {
		return nil, nil
	}
	_, missing := os.Lstat(name)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	return &traceFile{file: f, made: errors.Is(missing, fs.ErrNotExist)}, err
}

// Write replaces the contents with those of the first call, and appends those of later ones.
func (f *traceFile) Write(b []byte) (int, error) {
	if !f.written {
		_ = f.file.Truncate(0) // fails for what is no regular file, and has nothing to remove
		f.written = true
	}
	return f.file.Write(b)
}

// close closes the file, and removes it if it is new and nothing was written.
func (f *traceFile) close() error {
	if f == nil {
		return nil
	}
	err := f.file.Close()
	if f.made && !f.written {
		err = errors.Join(err, os.Remove(f.file.Name()))
	}
	return err
}
