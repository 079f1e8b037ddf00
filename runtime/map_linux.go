package runtime

import "syscall"

// adviseWeights starts reading the file ahead, in the background: on a cold cache the
// first step waits for the disk's bandwidth and not for its latency, page by page.
// Failing changes nothing but speed.
func adviseWeights(b []byte) { _ = syscall.Madvise(b, syscall.MADV_WILLNEED) }
