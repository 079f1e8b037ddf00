package readback

import (
	"errors"

	"github.com/ggmlc/ggmlc/ir"
)

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

// IsComment reports whether a finding is that a comment is wrong.
func IsComment(err error) bool {
	var wrong *commentError
	return errors.As(err, &wrong)
}

// Shapes are the fields of the structs that kernels take.
var Shapes = shapes

// Transfers are the parameters of the queues' methods that copy.
var Transfers = transfers
