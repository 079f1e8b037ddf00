package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/tests/e2etest"
)

// languageLine matches the line of a dump about how the module generates tokens.
var languageLine = regexp.MustCompile(`(?m)^language .*\n`)

// entryText is an entry of the line language: a function, and the value with each role.
type entryText struct {
	fn    string
	roles [][2]string
}

// asImported returns the entry that the frontend writes.
func asImported(fn string) entryText {
	return entryText{fn, [][2]string{{"tokens", "%tokens"}, {"pos", "%pos"}, {"slot", "%slot"}, {"lengths", "%lengths"}, {"logits", "0"}}}
}

func (e entryText) clone() entryText { return entryText{e.fn, slices.Clone(e.roles)} }

func (e entryText) String() string {
	var roles []string
	for _, r := range e.roles {
		roles = append(roles, r[0]+"="+r[1])
	}
	return "@" + e.fn + "(" + strings.Join(roles, ", ") + ")"
}

// languageText returns the line with two entries. An empty tokenizer is left out.
func languageText(prefill, decode entryText, tokenizer string) string {
	text := fmt.Sprintf("language prefill=%v decode=%v", prefill, decode)
	if tokenizer != "" {
		text += " tokenizer=" + tokenizer
	}
	return text + "\n"
}

// entryEdits returns every entry in which one role has another one's value, is absent, appears twice, is exchanged
// with another, or has a value that does not exist.
func entryEdits(e entryText) (edits []entryText) {
	add := func(change func(e *entryText)) {
		c := e.clone()
		change(&c)
		edits = append(edits, c)
	}
	const logits = 4
	for i := range e.roles {
		add(func(e *entryText) { e.roles = slices.Delete(e.roles, i, i+1) })
		add(func(e *entryText) { e.roles = append(e.roles, e.roles[i]) })
		add(func(e *entryText) { e.roles[i][0] = "nosuch" })
		for j := range logits {
			if i == j {
				continue
			}
			add(func(e *entryText) { e.roles[i][1] = e.roles[j][1] })
			if i < j {
				add(func(e *entryText) { e.roles[i][1], e.roles[j][1] = e.roles[j][1], e.roles[i][1] })
			}
		}
	}
	for _, value := range []string{"%nosuch", "0", "-1", "_", "%", ""} {
		add(func(e *entryText) { e.roles[1][1] = value })
	}
	for _, value := range []string{"1", "-1", "99999999999", "%logits", ""} {
		add(func(e *entryText) { e.roles[logits][1] = value })
	}
	for _, fn := range []string{"nosuch", `""`, ""} {
		add(func(e *entryText) { e.fn = fn })
	}
	return edits
}

// refusedLines returns lines that contradict the functions of the model.
func refusedLines() []string {
	prefill, decode := asImported("prefill"), asImported("decode")
	var lines []string
	for _, e := range entryEdits(prefill) {
		lines = append(lines, languageText(e, decode, "m"))
	}
	for _, e := range entryEdits(decode) {
		lines = append(lines, languageText(prefill, e, "m"))
	}
	good := languageText(prefill, decode, "m")
	return append(lines, good+good, languageText(prefill, decode, "nosuch"), languageText(prefill, decode, "m tokenizer=m"),
		fmt.Sprintf("language prefill=%v tokenizer=m\n", prefill), fmt.Sprintf("language decode=%v\n", decode), "language\n",
		`meta "lm.vocab" "512"`+"\n")
}

// levels are the passes after which texts are edited.
var levels = []string{"import", "assign", "check"}

// dumpAt returns the text of the small model after a pass.
func dumpAt(t *testing.T, dir, level string) string {
	path := filepath.Join(dir, "dump.ggir")
	e2etest.GGMLC(t, "dump", "--after", level, "--kv", "f32", "--batch", "16", "-o", path, e2etest.AIDreams(t))
	return string(e2etest.ReadFile(t, path))
}

// TestLanguageLineIsNotBelieved edits the line in every way. Each text that contradicts its functions is refused, as
// a fault of the module.
func TestLanguageLineIsNotBelieved(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			dir := t.TempDir()
			text := dumpAt(t, dir, level)
			if !strings.Contains(text, languageText(asImported("prefill"), asImported("decode"), "m")) {
				t.Fatalf("no line as expected: %q", languageLine.FindString(text))
			}
			path := filepath.Join(dir, "edited.ggir")
			for i, line := range refusedLines() {
				e2etest.WriteFile(t, path, []byte(languageLine.ReplaceAllLiteralString(text, line)))
				_, err := driver.ReadText(path)
				var refused *driver.TextError
				if !errors.As(err, &refused) || !strings.Contains(err.Error(), "edited.ggir") {
					t.Errorf("%s: error %v", line, err)
				}
				if i%40 == 0 {
					mustRefuse(t, path)
				}
			}
		})
	}
}

// mustRefuse checks that a build ends with status 1.
func mustRefuse(t *testing.T, path string) {
	t.Helper()
	if status, out := tryBuild(t, path, filepath.Join(t.TempDir(), "story")); status != 1 {
		t.Errorf("%s: exit status %d:\n%s", path, status, out)
	}
}

// tryBuild builds a text and returns the exit status.
func tryBuild(t *testing.T, path, exe string, flags ...string) (status int, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2etest.CommandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, e2etest.Path(), append([]string{"build", path, "-o", exe}, flags...)...)
	cmd.Dir = filepath.Dir(path)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// moduleEdit changes other parts of a dump than the roles.
type moduleEdit struct {
	name   string
	change func(text string) string
	may    string // "build", "refuse", or "" for either: if it is built, its output is that of the reference
}

// replace returns an edit that replaces all matches of a pattern.
func replace(pattern, with string) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(text string) string { return re.ReplaceAllString(text, with) }
}

var moduleEdits = []moduleEdit{
	{"entries change places", func(s string) string {
		return languageLine.ReplaceAllLiteralString(s, languageText(asImported("decode"), asImported("prefill"), "m"))
	}, "build"},
	{"prompts by single tokens", replace(`language prefill=@prefill`, `language prefill=@decode`), "build"},
	{"a parameter of another name", replace(`%pos\b`, "%where.it.is"), "build"},
	{"inputs named as each other", func(s string) string {
		return replace(`%spare\b`, "%pos")(replace(`%pos\b`, "%slot")(replace(`%slot\b`, "%spare")(s)))
	}, "build"},
	{"another order of parameters", replace(`@(prefill|decode)\((%tokens: [^%]*)(%pos: [^%]*)`, `@$1($3$2`), "build"},
	{"an entry of another name", replace(`(@|")prefill\b`, "${1}read"), "build"},
	{"a symbol of another name", replace(`([^%\w])tokens\b([^=:])`, "${1}many$2"), "build"},
	{"old notes beside the line", replace(`(?m)^language .*\n`, "${0}meta \"lm.vocab\" \"99\"\nmeta \"lm.context\" \"4096\"\nmeta \"lm.batch\" \"64\"\nmeta \"lm.tokenizer\" \"x\"\n"), "build"},
	{"a parameter of another name in the line alone", replace(`pos=%pos`, "pos=%where"), "refuse"},
	{"a parameter of another name in one function alone", replace(`func @prefill\((.*)%pos`, "func @prefill($1%where"), "refuse"},
	{"a batch of 64", replace(`symbol tokens 1 16`, "symbol tokens 1 64"), ""},
	{"a batch of 1", replace(`symbol tokens 1 16`, "symbol tokens 1 1"), ""},
	{"a batch of 4096", replace(`symbol tokens 1 16`, "symbol tokens 1 4096"), ""},
	{"a batch of -1", replace(`symbol tokens 1 16`, "symbol tokens 1 -1"), "refuse"},
	{"no tokens", replace(`symbol tokens 1 16`, "symbol tokens 0 16"), "refuse"},
	{"two tokens at least", replace(`symbol tokens 1 16`, "symbol tokens 2 16"), "refuse"},
	{"a longer context", replace(`\[1,(\d+),128,`, "[1,$1,200,"), ""},
	{"a shorter context", replace(`\[1,(\d+),128,`, "[1,$1,127,"), ""},
	{"a huge context", replace(`\[1,(\d+),128,`, "[1,$1,4096,"), ""},
	{"no context", replace(`\[1,(\d+),128,`, "[1,$1,0,"), "refuse"},
	{"a negative context", replace(`\[1,(\d+),128,`, "[1,$1,-1,"), "refuse"},
	{"two sequences", replace(`\[1,(\d+),128,`, "[2,$1,128,"), "refuse"},
	{"two lengths", replace(`%lengths: i32\[1\]`, "%lengths: i32[2]"), "refuse"},
	{"ids of eight bytes", replace(`%tokens: i32`, "%tokens: i64"), "refuse"},
	{"attention without a length", replace(`%slot, %pos, %lengths \{`, "%slot, %pos, %pos {"), "refuse"},
	{"positions that are ids", replace(`%slot, %pos( |,|$)`, "%slot, %tokens$1"), "refuse"},
	{"an unknown input", replace(`(func @(?:prefill|decode)\()`, "$1%more: f32[4], "), "refuse"},
	{"decode writes less", withoutWrite, "refuse"},
}

// withoutWrite removes the first state_write of decode. Its readers read the state as it was.
func withoutWrite(text string) string {
	head, decode, _ := strings.Cut(text, "func @decode")
	write := regexp.MustCompile(`\n *(%\S+) = state_write (%\S+),[^\n]*`).FindStringSubmatch(decode)
	if write == nil {
		return text
	}
	decode = strings.Replace(decode, write[0], "", 1)
	return head + "func @decode" + regexp.MustCompile(regexp.QuoteMeta(write[1])+`\b`).ReplaceAllLiteralString(decode, write[2])
}

// TestEditedModulesTellTheSame edits sizes and names in texts of several levels. If a text is built, the output is
// that of the reference; all others are refused with status 1.
func TestEditedModulesTellTheSame(t *testing.T) {
	refs := e2etest.AIDreamsReferences(t)
	levels := levels
	if testing.Short() {
		levels, refs = levels[:1], refs[:1]
	}
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			dir := t.TempDir()
			text := dumpAt(t, dir, level)
			for _, e := range moduleEdits {
				t.Run(e.name, func(t *testing.T) { e.try(t, dir, text, refs[:min(2, len(refs))]) })
			}
		})
	}
}

func (e moduleEdit) try(t *testing.T, dir, text string, refs []e2etest.Reference) {
	edited := e.change(text)
	if edited == text {
		t.Skip("skip: nothing to change at this level")
	}
	path := filepath.Join(dir, "edited.ggir")
	e2etest.WriteFile(t, path, []byte(edited))
	exe := filepath.Join(dir, "story")
	status, out := tryBuild(t, path, exe)
	switch {
	case status == 0 && e.may != "refuse":
		e2etest.Executable(exe).TellsAll(t, refs)
	case status != 1 || e.may == "build":
		t.Errorf("exit status %d:\n%s", status, out)
	}
}
