package view

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"strings"
)

//go:embed page
var page embed.FS

// scripts are the parts of the page's script, in order.
var scripts = []string{"base.js", "text.js", "summary.js", "passes.js", "memory.js", "graph.js", "time.js", "diff.js", "why.js", "main.js"}

// writePage writes the page with a title and a document, in which nothing may end a script element.
func writePage(w io.Writer, title string, doc []byte) error {
	if bytes.ContainsAny(doc, "<>") {
		panic("view: internal error: the document is not escaped")
	}
	frame, err := joined("page.html")
	if err != nil {
		return err
	}
	style, err := joined("style.css")
	if err != nil {
		return err
	}
	script, err := joined(scripts...)
	if err != nil {
		return err
	}
	policy := fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; style-src '%s'; script-src '%s'", hashOf(style), hashOf(script))
	_, err = strings.NewReplacer("{{title}}", html.EscapeString(title), "{{policy}}", html.EscapeString(policy),
		"{{style}}", style, "{{script}}", script, "{{document}}", string(doc)).WriteString(w, frame)
	return err
}

// joined returns files of the page, one after the other.
func joined(names ...string) (string, error) {
	var b strings.Builder
	for _, name := range names {
		text, err := page.ReadFile("page/" + name)
		if err != nil {
			return "", err
		}
		b.Write(text)
	}
	return b.String(), nil
}

// hashOf returns the hash of an element as a content security policy names it.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
