//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package lineedit

import (
	"errors"
	"os"
)

// isTerminal reports that lines cannot be edited on this system.
func isTerminal(*os.File) error { return errors.ErrUnsupported }

func singleKeys(_, _ *os.File) (restore func(), err error) { return nil, errors.ErrUnsupported }

func size(*os.File) (columns, rows int) { return 80, 24 }
