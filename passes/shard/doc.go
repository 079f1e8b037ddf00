// Package shard derives how values are divided over the devices of a group (tensor parallelism): each is mirrored, split
// on an axis, or partial, which means that every device has a summand.
//
// GGML derives the states that ggml's meta backend of August 2026 derives, or the reason why that refuses a graph. Some
// of what it accepts computes wrong results; package passes/check/group finds it. Spread derives states from what is true
// of our own ops (ir.Ways) and writes a module out for the devices. docs/explanation/sharding.md explains states, rules
// and what becomes of a group.
package shard
