package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir"
)

// TestExitStatusFollowsTheError has errors that scripts cannot cause.
func TestExitStatusFollowsTheError(t *testing.T) {
	bug := &pass.InternalError{Pass: "plan", Module: "m", Err: errors.New("a hole"), Repro: "/tmp/ggmlc-plan.ggir"}
	for _, c := range []struct {
		name string
		err  error
		want int
		code string
	}{
		{"usage", usagef("no"), exitUsage, "usage"},
		{"option", &driver.OptionError{Err: errors.New("no")}, exitUsage, "usage"},
		{"model and option", fmt.Errorf("m.gguf: %w", &arch.OptionError{Err: errors.New("--kv")}), exitUsage, "usage"},
		{"bug", fmt.Errorf("m.gguf: %w", bug), exitBug, "internal"},
		{"bug beside a budget", errors.Join(&pass.BudgetError{Name: "cpu"}, bug), exitBug, "internal"},
		{"memory", fmt.Errorf("m.gguf: %w", &pass.BudgetError{Name: "cpu"}), exitBudget, "memory"},
		{"denied", &driver.DeniedError{Backend: "cpu"}, exitBudget, "denied"},
		{"interrupt", fmt.Errorf("before pass plan: %w", context.Canceled), exitModel, "interrupted"},
		{"disk", fmt.Errorf("writing: %w", syscall.ENOSPC), exitModel, "disk-full"},
		{"go", &codegen.BuildError{Err: errors.New("exit status 1")}, exitModel, "go-build"},
		{"other", errors.New("no"), exitModel, "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := kindOf(c.err); got.status != c.want || got.code != c.code {
				t.Errorf("status %d, code %s; want %d, %s", got.status, got.code, c.want, c.code)
			}
		})
	}
}

// TestBugsTellHowToRepeatThem checks the text of exit status 4.
func TestBugsTellHowToRepeatThem(t *testing.T) {
	var b bytes.Buffer
	report(&b, fmt.Errorf("m.gguf: %w", &pass.InternalError{Pass: "plan", Module: "m", Err: errors.New("a hole"), Repro: "/tmp/ggmlc-plan.ggir"}), asText)
	want := "ggmlc: m.gguf: internal error: pass plan, module m: a hole\nreproduce with: ggmlc opt --passes plan /tmp/ggmlc-plan.ggir\n"
	if b.String() != want {
		t.Errorf("got  %swant %s", b.String(), want)
	}
}

// TestNamesStayOnTheirLine: a newline in a name or a path does not split a fault, except in texts that have several
// lines anyway.
func TestNamesStayOnTheirLine(t *testing.T) {
	path := &fs.PathError{Op: "open", Path: "a\nb", Err: syscall.ENOENT}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"a path", path, "ggmlc: open a\\nb: no such file or directory\n"},
		{"of a wrong file", &gguf.Error{File: "a\nb.gguf", Err: errors.New("is empty")}, "ggmlc: a\\nb.gguf: is empty\n"},
		{"in front of several", fmt.Errorf("a\nb: %w", errors.Join(errors.New("one"), path)), "ggmlc: a\\nb: one\nggmlc: a\\nb: open a\\nb: no such file or directory\n"},
		{"of a budget", &pass.BudgetError{Name: "c\nc", Advice: "less"}, "ggmlc: c\\nc: less\n"},
		{"of a flag", usagef("--source a\nb=x: no"), "ggmlc: --source a\\nb=x: no\n"},
		{"a list of reasons", errors.Join(errors.New("one"), errors.New("  because of a\nb")), "ggmlc: one\n  because of a\\nb\n"},
		{"reasons in one error", &driver.DeniedError{Backend: "cpu", Nodes: []string{"a", "b"}}, "ggmlc: deny cpu: 2 nodes need it: choose other targets, or allow it\n  a\n  b\n"},
		{"what Go prints", &codegen.BuildError{Err: errors.New("no"), Output: "one\ntwo"}, "ggmlc: go build failed: no\none\ntwo\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			report(&b, c.err, asText)
			if b.String() != c.want {
				t.Errorf("got\n%swant\n%s", b.String(), c.want)
			}
		})
	}
}

// TestNoticeIsOneLine has notes with names of files and pins.
func TestNoticeIsOneLine(t *testing.T) {
	var b bytes.Buffer
	notice(&b, asText, "pin", "pin %s puts it on cpu", "a\nb")
	if want := "ggmlc: pin a\\nb puts it on cpu\n"; b.String() != want {
		t.Errorf("got %swant %s", b.String(), want)
	}
}

// TestModelsAreNoted has a template that does not parse, and one that does.
func TestModelsAreNoted(t *testing.T) {
	md := &driver.Model{Module: &ir.Module{Name: "m"}, Chat: []byte(`{"default": "{% if %}", "tool_use": "{{ messages }}"}`)}
	var b bytes.Buffer
	err := noteModel(&b, asText, "m.gguf", md)
	if want := "ggmlc: m.gguf: the chat template default does not parse: line 1, column 7: unexpected %}"; err != nil || !strings.HasPrefix(b.String(), want) || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("%v, %q, want %q", err, b.String(), want)
	}
}

// TestJoinedErrorsAreSplit shows that prefixes and lists of reasons are kept.
func TestJoinedErrorsAreSplit(t *testing.T) {
	two := errors.Join(errors.New("one"), errors.New("two"), errors.New("  because of three"))
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"bare", two, "ggmlc: one\nggmlc: two\n  because of three\n"},
		{"with a prefix", fmt.Errorf("pass x: %w", two), "ggmlc: pass x: one\nggmlc: pass x: two\n  because of three\n"},
		{"with two prefixes", fmt.Errorf("m: %w", fmt.Errorf("pass x: %w", errors.Join(errors.New("a"), errors.New("b")))), "ggmlc: m: pass x: a\nggmlc: m: pass x: b\n"},
		{"with an ending", fmt.Errorf("%w: give up", errors.Join(errors.New("a"), errors.New("b"))), "ggmlc: a\nb: give up\n"},
		{"nested", errors.Join(errors.New("a"), errors.Join(errors.New("b"), errors.New("c"))), "ggmlc: a\nggmlc: b\nggmlc: c\n"},
		{"of options: the model's name would mislead", fmt.Errorf("m.gguf: %w", &driver.OptionError{Err: two}), "ggmlc: one\nggmlc: two\n  because of three\n"},
		{"of an option beside one of the model", fmt.Errorf("m: %w", errors.Join(&driver.OptionError{Err: errors.New("a")}, errors.New("b"))), "ggmlc: a\nggmlc: m: b\n"},
		{"several in one sentence", fmt.Errorf("%w and %w", errors.New("a"), errors.New("b")), "ggmlc: a and b\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			report(&b, c.err, asText)
			if b.String() != c.want {
				t.Errorf("got\n%swant\n%s", b.String(), c.want)
			}
		})
	}
}

// TestReportsAreShort: for any number and length of faults, a report has at most 4 KiB, states how many faults it
// leaves out, and contains nothing that controls a terminal.
func TestReportsAreShort(t *testing.T) {
	many := func(n int, text string) error {
		var errs []error
		for i := range n {
			errs = append(errs, fmt.Errorf("fault %d: %s: what to do", i, text))
		}
		return errors.Join(errs...)
	}
	violations := &ir.VerifyError{}
	for range 10_000 {
		violations.Violations = append(violations.Violations, ir.Violation{Func: "f\x1b[2J", Rule: "r", Text: "wrong"})
	}
	var tooLarge error
	for i := range 1000 {
		tooLarge = errors.Join(tooLarge, pass.TooLarge(fmt.Sprintf("weights of vulkan: %q", fmt.Sprintf("blk.%d.ffn_up.weight", i)), 44032, 1))
	}
	long := strings.Repeat("\x1b\u202e", 50_000)
	for _, c := range []struct {
		name string
		err  error
		want []string
	}{
		{"many faults", many(10_000, "wrong"), []string{"fault 0: ", "fault 50: ", " more errors\n"}},
		{"one long fault", many(1, long), []string{"fault 0: ", ": what to do\n"}},
		{"many long faults", many(30, long), []string{"fault 0: ", "fault 1: ", " more errors\n"}},
		{"a long text", fmt.Errorf("x.ggir: %w", &driver.TextError{File: "x.ggir", Err: many(20, long)}), []string{"x.ggir: ", "fault 0: ", " more errors\n"}},
		{"violations", violations, []string{"wrong", " more lines\n"}},
		{"a budget", tooLarge, []string{"blk.0.ffn_up", "blk.9.ffn_up", " more errors\n"}},
		{"wrong usage", usagef("unknown flag %s: see ggmlc --help", long), []string{"unknown flag", ": see ggmlc --help\n"}},
	} {
		for _, form := range []outputForm{asText, asJSON} {
			var b bytes.Buffer
			report(&b, c.err, form)
			text := b.String()
			if form == asText && len(text) > 4096 || strings.ContainsAny(text, "\x1b\u202e") {
				t.Errorf("%s: %d bytes:\n%.2000s", c.name, len(text), text)
			}
			for _, w := range c.want {
				if form == asText && !strings.Contains(text, w) {
					t.Errorf("%s: no %q in\n%s", c.name, w, text)
				}
			}
			for line := range strings.Lines(text) {
				if form == asJSON && !json.Valid([]byte(line)) {
					t.Errorf("%s: no JSON: %s", c.name, line)
				}
			}
		}
	}
	var b bytes.Buffer
	report(&b, &codegen.BuildError{Err: errors.New("exit status 1"), Output: strings.Repeat("line\n", 5000)}, asText)
	if n := strings.Count(b.String(), "line\n"); n != 5000 {
		t.Errorf("%d lines of the Go command's 5000", n)
	}
}
