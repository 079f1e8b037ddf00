package runtime

import (
	"encoding/json"
	"strings"
	"testing"
)

// promptRecord is a line of --prompts --json.
type promptRecord struct {
	Line, ID      int
	Text          string
	Finish, Error string
	Summary       map[string]any
}

// TestPromptsThatFail do not keep others from their answers.
func TestPromptsThatFail(t *testing.T) {
	p := toySessions(2, nil)
	p.Tokenizer = toyTokenizer(t)
	file := writeText(t, "ab\n"+strings.Repeat("a", 100)+"\nabc\n")
	status, out, errs := invoke(p, "--prompts", file, "-n", "3", "--ignore-eos")
	if status != 1 || strings.Count(out, "---\n") != 2 || !strings.Contains(errs, "toy: line 2: the context is full: ") ||
		!strings.Contains(errs, "toy: "+file+": 1 of 3 prompts failed") {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
	_, out, _ = invoke(p, "--prompts", file, "-n", "3", "--ignore-eos", "--json")
	tokens, finish, failed := map[int]int{}, map[int]string{}, map[int]string{}
	var summary map[string]any
	for line := range strings.Lines(out) {
		var r promptRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		switch {
		case r.Summary != nil:
			summary = r.Summary
		case r.Error != "":
			failed[r.Line] = r.Error
		default:
			tokens[r.Line]++
			finish[r.Line] += r.Finish
		}
	}
	if tokens[1] != 3 || tokens[3] != 3 || tokens[2] != 0 || finish[1] != "length" || !strings.HasPrefix(failed[2], "the context is full") || len(failed) != 1 {
		t.Errorf("%s", out)
	}
	if summary["prompts"] != 3. || summary["failed"] != 1. || summary["generated"] != 6. {
		t.Errorf("%v", summary)
	}
}

// TestPromptsCountWhatWasRun has lines that begin alike, one after the other.
func TestPromptsCountWhatWasRun(t *testing.T) {
	p := toySessions(2, nil)
	p.Tokenizer = toyTokenizer(t)
	file := writeText(t, "abcdefgh\nabcdefgi\n")
	_, out, errs := invoke(p, "--prompts", file, "--parallel", "1", "-n", "1", "--json")
	if !strings.Contains(out, `"prompt_tokens":18,"cached_tokens":8,"generated":2`) { // <s>abcdefgh, then i
		t.Errorf("%q, %q", out, errs)
	}
}
