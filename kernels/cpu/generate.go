package cpu

//go:generate go run -C _asm .
