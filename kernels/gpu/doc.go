// Package gpu lowers nodes to kernels for GPUs. A kernel is built for one node: its dtypes, layouts and constant
// extents are part of the kernel; addresses and the extents that change from step to step are arguments. Nodes that
// differ in addresses only have equal kernels.
//
// A kernel loops over units of work, one for each workgroup at a time: unit u belongs to workgroup u mod groups. So any
// number of workgroups computes the same, in the same order of additions: results do not depend on it.
//
// [Lower] has one function for each op, in the file of its family. A new kernel is a new entry of the table there; the
// tests run it on all cases of its op. Package interp defines what kernels mean.
package gpu
