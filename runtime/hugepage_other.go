//go:build !linux

package runtime

// adviseHuge would ask for huge pages, which these systems choose by themselves or not at all.
func adviseHuge([]byte) {}
