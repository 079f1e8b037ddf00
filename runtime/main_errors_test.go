package runtime

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// jsonFault is a line of standard error under --json.
type jsonFault struct{ Level, Code, Message string }

// faults parses the lines of standard error.
func faults(t *testing.T, errs string) (list []jsonFault) {
	t.Helper()
	for line := range strings.Lines(errs) {
		var f jsonFault
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		list = append(list, f)
	}
	return list
}

func TestErrorsAreJSONToo(t *testing.T) {
	procs(t, 2)
	broken := hello(t)
	broken.Funcs[0].Run = func(*Worker, *Args) { panic("broken\nkernel") }
	panics := hello(t)
	panics.ScratchBytes = 3
	for _, c := range []struct {
		p      *Program
		args   string
		status int
		want   jsonFault // Message: a part of it
	}{
		{hello(t), "--prompt a -n 100 --ignore-eos --json", exitFailed, jsonFault{"", "context-full", "the context is full: 64 positions"}},
		{hello(t), "--prompt a --tokens 1 --json", exitUsage, jsonFault{"", "usage", "give one of them"}},
		{hello(t), "--json --nope", exitUsage, jsonFault{"", "usage", "unknown flag --nope"}},
		{hello(t), "--nope --json", exitUsage, jsonFault{"", "usage", "unknown flag --nope"}},
		{hello(t), "tokenize --json --nope a", exitUsage, jsonFault{"", "usage", "unknown flag --nope"}},
		{hello(t), "--tokens 99 --json", exitUsage, jsonFault{"", "input", "99"}},
		{hello(t), "--file /none --json", exitFailed, jsonFault{"", "file", "/none"}},
		{hello(t), "--weights /none --prompt a --json", exitFailed, jsonFault{"", "weights", "/none"}},
		{broken, "--prompt a --json", exitBug, jsonFault{"", "internal", "broken\nkernel: this is a bug of ggmlc"}},
		{panics, "--prompt a --json", exitBug, jsonFault{"", "internal", "internal error: "}},
		{hello(t), "--prompt a --threads 5 --json", exitDone, jsonFault{"note", "threads", "--threads 5: cut to 2"}},
	} {
		status, _, errs := invoke(c.p, strings.Split(c.args, " ")...)
		list := faults(t, errs)
		if status != c.status || len(list) != 1 {
			t.Errorf("%s: status %d, want %d; %d lines:\n%s", c.args, status, c.status, len(list), errs)
			continue
		}
		if f := list[0]; f.Level != c.want.Level || f.Code != c.want.Code || !strings.Contains(f.Message, c.want.Message) {
			t.Errorf("%s: %+v, want %+v", c.args, f, c.want)
		}
	}
}

// TestErrorsAreLinesWithoutJSON: after "--" the word is no flag.
func TestErrorsAreLinesWithoutJSON(t *testing.T) {
	for _, args := range []string{"--nope", "--nope -- --json"} {
		if _, _, errs := invoke(hello(t), strings.Split(args, " ")...); !strings.HasPrefix(errs, "toy: unknown flag --nope") {
			t.Errorf("%s: %q", args, errs)
		}
	}
}

func TestJoinedErrorsAreObjectsOfTheirOwn(t *testing.T) {
	var out strings.Builder
	c := &cli{name: "toy", err: &out, json: true}
	status := c.exit(errors.Join(&ContextError{}, errors.Join(errors.New("a\nb"), usagef("c"))))
	list := faults(t, out.String())
	if status != exitUsage || len(list) != 3 || list[0].Code != "context-full" || list[1] != (jsonFault{"", "failed", "a\nb"}) || list[2] != (jsonFault{"", "usage", "c"}) {
		t.Errorf("status %d, %+v", status, list)
	}
}
