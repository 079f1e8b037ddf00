package vulkan

// Unmap makes the loader open devices that never map their memory.
func (l *Loader) Unmap() { l.unmapped = true }
