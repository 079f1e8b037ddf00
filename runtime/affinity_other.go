//go:build !linux

package runtime

// canBind reports whether the system binds threads to cores.
const canBind = false

// coreMask is a set of processors. It is empty where threads are not bound.
type coreMask struct{}

func (m *coreMask) add(int)      {}
func (m *coreMask) cores() []int { return nil }
func (m *coreMask) apply()       {}
func (m *coreMask) load()        {}
