//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package runtime

// adviseWeights would ask for reading ahead, which these systems do by themselves.
func adviseWeights([]byte) {}
