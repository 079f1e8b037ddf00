// Package demo contains the model that ggmlc shows if it is given none: a llama of 828,544 parameters that tells tiny
// stories. The README.md in this folder describes how it was made.
package demo

import _ "embed"

// Name is the model's file name.
const Name = "stories.gguf"

//go:embed stories.gguf
var model []byte

// Model returns the GGUF file. The caller must not change it.
func Model() []byte { return model }
