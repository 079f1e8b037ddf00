package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// talk returns a conversation of p with a system message and some turns, the last one without an answer.
func talk(t *testing.T, p *Program, n int, users ...string) (c *conversation, errs *bytes.Buffer) {
	t.Helper()
	m, s := openProgram(t, p, Options{Threads: 1, Poison: true})
	tmpl, err := m.template(ChatOptions{})
	if err != nil {
		t.Fatal(err)
	}
	errs = new(bytes.Buffer)
	g := &generateCommand{cli: &cli{program: p, name: "toy", out: new(bytes.Buffer), err: errs}, n: n}
	g.o.IgnoreEOG = true
	c = &conversation{generateCommand: g, session: s, template: tmpl, messages: []Message{{Role: "system", Content: "sys"}}}
	for i, text := range users {
		if i > 0 {
			c.messages = append(c.messages, Message{Role: "assistant", Content: "yes"})
		}
		c.messages = append(c.messages, Message{Role: "user", Content: text})
	}
	return c, errs
}

// TestAnswersContinueAfterAShift generates an answer that passes the end of the context. Each token is that of the
// definition of the model for the messages that are left.
func TestAnswersContinueAfterAShift(t *testing.T) {
	first, second, newest := strings.Repeat("a", 15), strings.Repeat("b", 5), strings.Repeat("c", 5)
	c, errs := talk(t, talker(t), 45, first, second, newest)
	prompt, err := c.fit()
	if err != nil {
		t.Fatal(err)
	}
	o := c.o
	o.Whole, o.MaxTokens = true, c.n
	gen, err := newGeneration(c.session, o)
	if err != nil {
		t.Fatal(err)
	}
	a := &answer{conversation: c, gen: gen}
	if err := a.generate(context.Background(), prompt); err != nil || len(a.ids) != 45 {
		t.Fatalf("%d tokens, %v", len(a.ids), err)
	}

	var want []int32
	tokens, shifts := prompt, 0
	for len(want) < 45 {
		if len(tokens) > toyContext { // both older turns do not leave half of the context free
			kept := []Message{{Role: "system", Content: "sys"}, {Role: "user", Content: newest}}
			tokens, err = c.template.tokens(kept)
			if err != nil {
				t.Fatal(err)
			}
			tokens = append(tokens, want...)
			shifts++
		}
		logits := toyWant(tokens)
		best := 0
		for id, x := range logits {
			if x > logits[best] {
				best = id
			}
		}
		want, tokens = append(want, int32(best)), append(tokens, int32(best))
	}
	if !slices.Equal(a.ids, want) || shifts != 1 {
		t.Errorf("after %d shifts\n%v, want\n%v", shifts, a.ids, want)
	}
	if said := "toy: the context is full: the oldest 2 turns are forgotten, "; strings.Count(errs.String(), said) != 1 {
		t.Errorf("%q, want %q", errs, said)
	}
}

// TestMessagesAfterAShift: a message that no longer fits shifts before its answer. The system message stays.
func TestMessagesAfterAShift(t *testing.T) {
	c, errs := talk(t, talker(t), 1, strings.Repeat("a", 20), strings.Repeat("b", 20), strings.Repeat("c", 14))
	prompt, err := c.fit()
	if err != nil {
		t.Fatal(err)
	}
	want, err := c.template.tokens([]Message{{Role: "system", Content: "sys"}, {Role: "user", Content: strings.Repeat("c", 14)}})
	if err != nil || !slices.Equal(prompt, want) {
		t.Errorf("%v, want %v (%v)", prompt, want, err)
	}
	if want := fmt.Sprintf("the oldest 2 turns are forgotten, %d of 64 tokens are kept", len(want)); !strings.Contains(errs.String(), want) {
		t.Errorf("%q, want %q", errs, want)
	}
}

// TestShiftKeepsWhatLeavesHalfTheContext forgets one turn of two.
func TestShiftKeepsWhatLeavesHalfTheContext(t *testing.T) {
	c, errs := talk(t, talker(t), 1, strings.Repeat("a", 50), "bbb", "ccc")
	prompt, err := c.fit()
	if err != nil || !strings.Contains(errs.String(), "the oldest turn is forgotten") || len(c.messages) != 4 || len(prompt) > toyContext/2 {
		t.Errorf("%d messages, %d tokens, %q, %v", len(c.messages), len(prompt), errs, err)
	}
}

func TestConversationWithoutAShiftEnds(t *testing.T) {
	c, _ := talk(t, talker(t), 1, strings.Repeat("a", 30), strings.Repeat("b", 30))
	c.chat.keepAll = true
	if _, err := c.fit(); !errors.Is(err, ErrContextFull) || !strings.HasPrefix(err.Error(), "the conversation ends here: ") {
		t.Errorf("%v", err)
	}
	p := talker(t)
	status, _, errs := invokeWith(p, strings.NewReader("hi\nho\n"), nil, "--chat", "--ignore-eos", "--threads", "1", "--context-shift=off")
	if status != 1 || !strings.Contains(errs, "the conversation ends here: the context is full: 64 positions are taken") || !strings.Contains(errs, "1 answers") {
		t.Errorf("status %d, %q", status, errs)
	}
}

// TestConversationGoesOn: answers that fill the context, and messages that are too long, do not end it.
func TestConversationGoesOn(t *testing.T) {
	for _, shift := range []string{"on", "off"} {
		in := "hi\n" + strings.Repeat("a", 100) + "\nho\n"
		status, out, errs := invokeWith(talker(t), strings.NewReader(in), nil, "--chat", "-n", "3", "--threads", "1", "--context-shift", shift)
		if status != 1 || strings.Count(out, "\n") != 2 || !strings.Contains(errs, "toy: line 2: the message is left out: it is 103 tokens long") || !strings.Contains(errs, "2 answers") ||
			!strings.HasSuffix(errs, "toy: 1 of 3 messages were left out, as they are too long\n") {
			t.Errorf("%s: status %d, %q, %q", shift, status, out, errs)
		}
	}
	status, out, errs := invokeWith(talker(t), strings.NewReader("hi\nho\n"), nil, "--chat", "--ignore-eos", "--threads", "1")
	if status != 0 || strings.Count(out, "\n") != 2 || strings.Count(errs, "the answer ends here: with its message it fills the context of 64 tokens") != 2 ||
		strings.Count(errs, "the oldest turn is forgotten") != 1 {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}

// TestSystemWithoutRoomForMessages: no message of the user fits after that of the system, which the error names.
func TestSystemWithoutRoomForMessages(t *testing.T) {
	c, errs := talk(t, talker(t), 5, "hi")
	c.messages[0].Content = strings.Repeat("s", toyContext)
	if _, err := c.fit(); err == nil || !strings.Contains(err.Error(), "the message of the system is too long") {
		t.Errorf("error %v", err)
	}
	if errs.Len() > 0 {
		t.Errorf("the conversation says %s", errs)
	}
	c.messages[0].Content, c.messages[1].Content = "sys", strings.Repeat("h", toyContext)
	if ids, err := c.fit(); err != nil || ids != nil || !strings.Contains(errs.String(), "the message is left out") {
		t.Errorf("a long message makes %d tokens, error %v, and says %s", len(ids), err, errs)
	}
}
