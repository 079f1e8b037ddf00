package readback

import "github.com/ggmlc/ggmlc/ir"

// KernelOf returns the names of the parameters that the kernels of an op are read with; false
// where no kernel computes nodes of the op.
func KernelOf(op ir.Op) (params string, ok bool) {
	if k := kernels[op]; k != nil {
		return k.params, true
	}
	return "", false
}

// KernelName returns the kernel that is to compute a node.
func KernelName(n *ir.Node) string { return kernels[n.Op].name(n) }

// Transfers are the parameters of the queues' methods that copy.
var Transfers = transfers
