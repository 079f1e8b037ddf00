package runtime

import (
	"os"
	"syscall"
	"unsafe"
)

// adviseHuge asks for huge pages for memory that has not been touched yet: 2 MiB then take one page fault and one TLB
// entry (Linux, Documentation/admin-guide/mm/transhuge.rst). A failure only costs speed.
func adviseHuge(b []byte) {
	page := os.Getpagesize()
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(page-1))
	if whole := (len(b) - skip) &^ (page - 1); whole > 0 {
		_ = syscall.Madvise(b[skip:skip+whole], syscall.MADV_HUGEPAGE)
	}
}
