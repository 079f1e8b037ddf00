// Command typecheck checks the types of packages for other systems than this one, dependencies included, from source.
// That finds what go vet would, of constants that overflow and names that a system does not have, without compiling the
// dependencies for each system.
//
//	go run ./tests/typecheck linux/386,windows/amd64 ./...
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: typecheck OS/ARCH,... PACKAGE...")
		os.Exit(2)
	}
	faults := 0
	for system := range strings.SplitSeq(os.Args[1], ",") {
		n, err := check(context.Background(), system, os.Args[2:])
		if err != nil {
			fmt.Fprintf(os.Stderr, "typecheck: %s: %v\n", system, err)
			os.Exit(1)
		}
		faults += n
	}
	if faults > 0 {
		os.Exit(1)
	}
}

// check prints the faults of packages on a system, OS/ARCH, and returns how many there are.
func check(ctx context.Context, system string, patterns []string) (faults int, err error) {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return 0, fmt.Errorf("this is not OS/ARCH")
	}
	list, err := packages.Load(&packages.Config{
		Context: ctx,
		Mode:    packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesSizes,
		Env:     append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
		Tests:   true,
	}, patterns...)
	if err != nil {
		return 0, err
	}
	seen := make(map[string]bool) // a package is there twice, with and without its tests
	packages.Visit(list, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			if text := e.Error(); !seen[text] {
				seen[text] = true
				fmt.Fprintf(os.Stderr, "%s: %s\n", system, text)
			}
		}
	})
	if len(list) == 0 {
		return 0, fmt.Errorf("no packages")
	}
	return len(seen), nil
}
