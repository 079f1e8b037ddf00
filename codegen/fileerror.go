package codegen

// FileError is an error about a file.
type FileError struct {
	File string
	Err  error
}

// Error puts the file in front.
func (e *FileError) Error() string { return e.File + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }
