// Package ggml derives how ggml's meta backend of August 2026 divides the values of a graph over the devices of a group
// (tensor parallelism), or the reason why that refuses the graph. Some of what it accepts computes wrong results;
// package passes/check/group finds it.
package ggml
