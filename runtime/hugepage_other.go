//go:build !linux

package runtime

// adviseHuge does nothing: these systems choose huge pages by themselves, or have none.
func adviseHuge([]byte) {}
