//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package runtime

// adviseWeights does nothing: these systems read ahead by themselves.
func adviseWeights([]byte) {}
