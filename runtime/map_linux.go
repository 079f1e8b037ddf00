package runtime

import "syscall"

// adviseWeights says how a mapped file will be used; failing changes nothing but speed.
//
// Huge pages first, as that decides in what units the file is then read (Linux, mm/filemap.c,
// do_sync_mmap_readahead): on a cold cache the kernel otherwise reads into pages whose size depends
// on the pattern of the first accesses, and a page of the cache keeps its size for as long as it is
// there. File systems with large folios (xfs, ext4 from Linux 6.16) then map 2 MiB with one page fault
// and one entry of the TLB; others ignore it.
//
// Then the file is read ahead in the background: the first step waits for the disk's
// bandwidth and not for its latency, page by page.
func adviseWeights(b []byte) {
	_ = syscall.Madvise(b, syscall.MADV_HUGEPAGE)
	_ = syscall.Madvise(b, syscall.MADV_WILLNEED)
}
