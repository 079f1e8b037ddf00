// Package shard derives how values are divided over the devices of a group (tensor parallelism): each is mirrored,
// split on an axis, partial, which means that every device has a summand, or held, which means that some devices have
// all of it.
//
// Spread derives states from what is true of our own ops (ir.Ways) and writes a module out for the devices. Package
// passes/shard/ggml derives those of ggml's meta backend. docs/explanation/sharding.md explains states, rules and what
// becomes of a group.
package shard
