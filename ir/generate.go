package ir

//go:generate go run ./gen -o builder_ops_gen.go
