package runtime

import "syscall"

// adviseWeights tells the system how a mapped file will be used. A failure only costs speed.
//
// Huge pages are requested first, since this decides in what units the file is read afterwards (Linux, mm/filemap.c,
// do_sync_mmap_readahead). Otherwise, on a cold cache, the kernel reads into pages whose size depends on the pattern
// of the first accesses, and a cached page keeps its size. File systems with large folios (xfs, ext4 from Linux 6.16)
// then map 2 MiB with one page fault and one TLB entry. Other file systems ignore the request.
//
// Reading ahead in the background is requested second: the first step then waits for the bandwidth of the disk and
// not for its latency, page by page.
func adviseWeights(b []byte) {
	_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE)
	_ = syscall.Madvise(b, syscall.MADV_WILLNEED)
}
