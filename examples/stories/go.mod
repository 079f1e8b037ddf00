module github.com/ggmlc/ggmlc/examples/stories

go 1.26.0

require (
	github.com/ggmlc/ggmlc v0.0.0
	golang.org/x/sys v0.49.0
)

replace github.com/ggmlc/ggmlc => ../..
