package codegen

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// fallbackFolder is the folder of a program's fallback, and the name of its package.
const fallbackFolder = "fallback"

// fallbackLink makes package main run the fallback, fallbackFace gives it the fallback's program.
const (
	fallbackLink = `package main

import "program/fallback"

func init() { program.Fallback = fallback.FallbackProgram() }
`
	fallbackFace = `// Package fallback is the program that runs if a device of package main cannot be opened.
package fallback

import "github.com/ggmlc/ggmlc/runtime"

// FallbackProgram returns the program.
func FallbackProgram() *runtime.Program { return &program }
`
)

// WithFallback returns a package main that has another one as its fallback. Both were read back as they are: only the
// name of the second package changes.
func WithFallback(p, fallback *Package) (*Package, error) {
	both := &Package{Files: append(p.Files[:len(p.Files):len(p.Files)], SourceFile{"fallback.go", []byte(fallbackLink)}), drives: p.drives || fallback.drives, backends: p.backends}
	for _, f := range fallback.Files {
		if filepath.Ext(f.Name) == ".go" {
			before, after, ok := strings.Cut(string(f.Data), "\npackage main\n")
			if !ok {
				return nil, fmt.Errorf("codegen: internal error: %s of the fallback is not in package main", f.Name)
			}
			f.Data = []byte(before + "\npackage " + fallbackFolder + "\n" + after)
		}
		both.Files = append(both.Files, SourceFile{fallbackFolder + "/" + f.Name, f.Data})
	}
	both.Files = append(both.Files, SourceFile{fallbackFolder + "/face.go", []byte(fallbackFace)})
	return both, nil
}

// Packed is a file with packed weights.
type Packed struct {
	File   string
	Size   int64
	Hash   [32]byte
	PlanID string // of the plan that they were packed for
}

// FinishWeightsFiles makes a file that holds the weights of a program one that programs accept. Those of its fallback,
// if not nil, come before them: the result is then in the fallback's file.
func FinishWeightsFiles(ctx context.Context, own Packed, fallback *Packed) (path string, err error) {
	if fallback == nil {
		return own.File, FinishWeightsFile(own.File, own.Size, own.PlanID, own.Hash)
	}
	if err := FinishWeightsFile(fallback.File, fallback.Size, fallback.PlanID, fallback.Hash); err != nil {
		return "", err
	}
	st, err := os.Stat(fallback.File)
	if err != nil {
		return "", err
	}
	return fallback.File, appendWeights(ctx, fallback.File, own, st.Size())
}
