// Command ggmlc is ggmlc with one more backend.
package main

import (
	"github.com/ggmlc/ggmlc/cmd"

	_ "example.com/npu"
)

func main() { cmd.Main() }
