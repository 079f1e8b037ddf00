package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/passes"
)

// TestExitStatus covers what scripts cannot bring about.
func TestExitStatus(t *testing.T) {
	bug := &passes.InternalError{Pass: "plan", Module: "m", Err: errors.New("a hole"), Repro: "/tmp/ggmlc-plan.ggir"}
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
		{"bug beside a budget", errors.Join(&passes.BudgetError{Name: "cpu"}, bug), exitBug, "internal"},
		{"memory", fmt.Errorf("m.gguf: %w", &passes.BudgetError{Name: "cpu"}), exitBudget, "memory"},
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

// TestBugsSayHowToRepeatThem is the text of exit status 4.
func TestBugsSayHowToRepeatThem(t *testing.T) {
	var b bytes.Buffer
	report(&b, fmt.Errorf("m.gguf: %w", &passes.InternalError{Pass: "plan", Module: "m", Err: errors.New("a hole"), Repro: "/tmp/ggmlc-plan.ggir"}), false)
	want := "ggmlc: m.gguf: internal error: pass plan, module m: a hole\nreproduce with: ggmlc opt --passes plan /tmp/ggmlc-plan.ggir\n"
	if b.String() != want {
		t.Errorf("got  %swant %s", b.String(), want)
	}
}

// TestJoinedErrorsAreTakenApart shows how prefixes and lists of reasons are kept.
func TestJoinedErrorsAreTakenApart(t *testing.T) {
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
			report(&b, c.err, false)
			if b.String() != c.want {
				t.Errorf("got\n%swant\n%s", b.String(), c.want)
			}
		})
	}
}
