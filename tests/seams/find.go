package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// find is a wrong behaviour of ggmlc or of a program.
type find struct {
	class     string   // its kind, in a few words
	want, got string   // the expected result and the actual one
	flags     []string // of the program's run; nil if ggmlc is at fault
}

// alike is how many similar finds are reduced and written.
const alike = 4

// found writes a find to a folder of its own, unless enough similar ones have been written.
func (f *fuzzer) found(ctx context.Context, t *try, x find) {
	if f.tally.found(t, x) > alike {
		return
	}
	t, x = f.reduce(ctx, t, x)
	dir := filepath.Join(f.out, fmt.Sprintf("%d-%s", t.seed, t.kind))
	err := os.WriteFile(filepath.Join(t.dir, "machine.targets"), []byte(t.machine.text()), 0o666)
	if err == nil {
		err = t.write(dir, x)
	}
	if err != nil {
		log.Printf("try %d: %v", t.seed, err)
	}
	log.Printf("try %d: %s, %s: %s: see %s", t.seed, t.kind, t.subject.name, x.class, dir)
}

// looks returns what finds of one cause have in common: the class without figures, and the first words of the result
// if that is an error.
func (x find) looks() string {
	line, _, _ := strings.Cut(x.got, "\n")
	if strings.HasPrefix(x.class, "ggmlc") {
		_, rest, _ := strings.Cut(x.got, "\n")
		line, _, _ = strings.Cut(rest, "\n")
		line = pathName.ReplaceAllString(line, "")
	}
	if strings.HasPrefix(line, "{") || strings.Contains(line, ".npy") {
		line = ""
	}
	return x.kind() + " " + figures.ReplaceAllString(line, "N")
}

var (
	figures  = regexp.MustCompile(`[0-9]+`)
	pathName = regexp.MustCompile(`/[^ :]*`)
)

// write copies the files of the try and writes a README.md about the find.
func (t *try) write(dir string, x find) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := os.CopyFS(dir, os.DirFS(t.dir)); err != nil && !os.IsExist(err) {
		return err
	}
	if err := t.subject.copyTo(dir); err != nil && !os.IsExist(err) {
		return err
	}
	for name, text := range map[string]string{"want": x.want, "got": x.got} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "README.md"), []byte(t.readme(dir, x)), 0o666)
}

// copyTo copies the model, or the folder of the graph.
func (s *subject) copyTo(dir string) error {
	if s.graph != nil {
		return os.CopyFS(filepath.Join(dir, "graph"), os.DirFS(filepath.Dir(s.path)))
	}
	data, err := os.ReadFile(s.path)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, filepath.Base(s.path)), data, 0o666)
}

func (t *try) readme(dir string, x find) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Try %d: %s\n\n", t.seed, x.class)
	fmt.Fprintf(&b, "Subject %s, kind %s. Again: `go run ./tests/seams -try %d`\n\n", t.subject.name, t.kind, t.seed)
	local := func(words []string) string {
		for i, w := range words {
			w = strings.ReplaceAll(w, t.dir+"/", "")
			if t.subject.graph != nil {
				w = strings.ReplaceAll(w, filepath.Dir(t.subject.path)+"/", "graph/")
			} else {
				w = strings.ReplaceAll(w, filepath.Dir(t.subject.path)+"/", "")
			}
			words[i] = quote(w)
		}
		return strings.Join(words, " ")
	}
	words := t.command()
	if t.level != "" && t.subject.graph != nil {
		words = append([]string{"--source", "m=graph/random.gguf"}, words...)
	} else if t.level != "" {
		words = append([]string{"--source", "m=" + filepath.Base(t.subject.path)}, words...)
	}
	fmt.Fprintf(&b, "    ggmlc build -o program %s\n", local(words))
	if x.flags != nil {
		fmt.Fprintf(&b, "    GOMAXPROCS=8 ./program %s\n", local(x.flags))
	}
	if t.level != "" {
		fmt.Fprintf(&b, "\nThe dump after %s of `%s %s`, edited; it may change what is computed: %t\n\n```diff\n%s```\n",
			t.level, t.subject.path, strings.Join(append(t.numeric, t.planned...), " "), t.meaning, diff(dir))
	}
	fmt.Fprintf(&b, "\n```\n%s```\n\nWant:\n\n```\n%s\n```\n\nGot:\n\n```\n%s\n```\n", t.machine.text(), clip(x.want), clip(x.got))
	return b.String()
}

func quote(word string) string {
	if strings.ContainsAny(word, " *?|()[]\\$\"'^") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// diff returns the changes of an edit.
func diff(dir string) string {
	cmd := exec.Command("diff", "-U0", "plain.ggir", "edited.ggir")
	cmd.Dir = dir
	out, _ := cmd.Output() // status 1 means that there are differences
	return string(out)
}

// clip shortens a text and its lines for people.
func clip(text string) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i == 40 {
			b.WriteString("…")
			break
		}
		if len(line) > 400 {
			line = line[:400] + "…"
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
