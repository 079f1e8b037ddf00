//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package lineedit

import "os"

// signals are none: a console has no Ctrl-Z that stops a process, and its window ends with the process.
type signals struct{}

func (t *Terminal) watch() *signals { return &signals{} }

func (*signals) catchEnds()   {}
func (*signals) releaseEnds() {}
func (*signals) close()       {}

func inBackground(*os.File) bool { return false }
