package runtime

import (
	"os"
	"syscall"
	"unsafe"
)

// adviseHuge asks for huge pages for memory that has not been touched yet: 2 MiB with one fault
// and one entry of the TLB (Linux, Documentation/admin-guide/mm/transhuge.rst). Failing changes nothing
// but speed.
func adviseHuge(b []byte) {
	page := os.Getpagesize()
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(page-1))
	if whole := (len(b) - skip) &^ (page - 1); whole > 0 {
		_ = syscall.Madvise(b[skip:skip+whole], syscall.MADV_HUGEPAGE)
	}
}
