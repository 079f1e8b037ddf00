// Package view opens the pages of ggmlc view in a browser.
package view

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var (
	shots = flag.String("shots", "", "write pictures of the pages of -pages into this folder")
	pages = flag.String("pages", "", "pages, separated by commas")
	size  = flag.String("size", "1440x900", "of the pictures")
)

// TestShots makes the pictures of docs.
func TestShots(t *testing.T) {
	if *shots == "" {
		t.Skip("skip: -shots names no folder")
	}
	p := startBrowser(t).open(t)
	var width, height int
	if _, err := fmt.Sscanf(*size, "%dx%d", &width, &height); err != nil {
		t.Fatal(err)
	}
	p.window(width, height)
	for file := range strings.SplitSeq(*pages, ",") {
		name := strings.TrimSuffix(filepath.Base(file), ".html")
		for _, scheme := range []string{"light", "dark"} {
			p.scheme(scheme)
			for _, fragment := range strings.Fields(os.Getenv("FRAGMENTS")) {
				label, address, _ := strings.Cut(fragment, "=")
				took := p.load(file, "#"+address)
				path := filepath.Join(*shots, name+"-"+label+"-"+scheme+".png")
				p.shot(path)
				t.Logf("%s %s: %v", name, fragment, took)
			}
		}
	}
	p.quiet()
}
