// Package pipeline holds the passes pipeline, which chooses queues and instances, and sync, which orders queues
// by events. Both see queues through the same clocks; pass plan uses these too.
package pipeline
