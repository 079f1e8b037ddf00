// Command ggmlc compiles models into static executables and Go packages. Package cmd has all of it.
package main

import "github.com/ggmlc/ggmlc/cmd"

func main() { cmd.Main() }
