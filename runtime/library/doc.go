// Package library calls functions of C libraries that are opened at run time, without cgo.
package library

import "errors"

// ErrSystem reports a system or an architecture on which programs cannot call libraries.
var ErrSystem = errors.New("drivers are called on 64-bit Linux, macOS and Windows only: build for amd64 or arm64")

// Open opens the first library of the given file names that the system finds. It stays open until the process ends,
// since drivers have threads of their own.
func Open(names ...string) (uintptr, error) {
	var errs []error
	for _, name := range names {
		lib, err := open(name)
		if err == nil {
			return lib, nil
		}
		if errors.Is(err, ErrSystem) {
			return 0, err
		}
		errs = append(errs, err)
	}
	return 0, errors.Join(errs...)
}
