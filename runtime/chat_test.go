package runtime

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/runtime/jinja"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// chatJSON is a template of letters, which the toy's vocabulary has: uhi is the message hi of a user, and a asks for an
// answer.
const chatJSON = `{"default": "{% for m in messages %}{{ m.role[0] }}{{ m.content }}{% endfor %}{% if add_generation_prompt %}a{% endif %}",
	"tool_use": "{{ tools | length }}t"}`

// talker is a toy with a chat template.
func talker(t testing.TB) *Program {
	p := toyProgram()
	p.Tokenizer, p.ChatTemplates = toyTokenizer(t), chatJSON
	return p
}

// chat returns the ids of an answer and why it ended.
func chat(t *testing.T, s *Session, o ChatOptions, messages ...Message) (ids []int32, finish Finish) {
	t.Helper()
	for token, err := range s.Chat(context.Background(), messages, o) {
		if err != nil {
			t.Fatal(err)
		}
		ids, finish = append(ids, token.ID), token.Finish
	}
	return ids, finish
}

// TestChatReusesTheCommonBeginning continues, changes and repeats a conversation. Each answer is that of a new session.
func TestChatReusesTheCommonBeginning(t *testing.T) {
	m, s := openProgram(t, talker(t), Options{Threads: 1, Poison: true})
	o := ChatOptions{GenerateOptions: GenerateOptions{MaxTokens: 4, IgnoreEOG: true}}
	hi := Message{Role: "user", Content: "hi"}
	first := []Message{hi}
	more := []Message{hi, {Role: "assistant", Content: "no"}, {Role: "user", Content: "why"}}
	changed := []Message{{Role: "system", Content: "s"}, hi, more[1], more[2]}
	for i, messages := range [][]Message{first, more, more, changed, first} {
		got, finish := chat(t, s, o, messages...)
		fresh, err := m.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		want, _ := chat(t, fresh, o, messages...)
		if !slices.Equal(got, want) || finish != FinishLength {
			t.Errorf("conversation %d: %v, %q; want %v", i, got, finish, want)
		}
	}
}

// TestChatRunsOnlyNewTokens counts the positions that a second message adds.
func TestChatRunsOnlyNewTokens(t *testing.T) {
	_, s := openProgram(t, script(t, 5, 13, 2), Options{Threads: 1})
	s.model.program.ChatTemplates = chatJSON
	if ids, finish := chat(t, s, ChatOptions{}, Message{Role: "user", Content: "hi"}); !slices.Equal(ids, []int32{13, 2}) || finish != FinishEnd {
		t.Fatalf("%v, %q", ids, finish)
	}
	tmpl, err := s.model.template(ChatOptions{})
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := tmpl.tokens([]Message{{Role: "user", Content: "hi"}, {Role: "assistant", Content: "h"}, {Role: "user", Content: "b"}})
	if err != nil {
		t.Fatal(err)
	}
	rest := prompt[s.past.common(prompt):]
	if want := s.model.vocab.Encode(nil, "uba", token.Options{}); !slices.Equal(rest, want) {
		t.Errorf("%v is run; want %v", rest, want)
	}
}

// TestGeneratedTextIsNoPartOfWhatIsKept: other calls between two answers change what the session has.
func TestGeneratedTextIsNoPartOfWhatIsKept(t *testing.T) {
	m, s := openProgram(t, talker(t), Options{Threads: 1})
	o := ChatOptions{GenerateOptions: GenerateOptions{MaxTokens: 4, IgnoreEOG: true}}
	msg := Message{Role: "user", Content: "hi"}
	chat(t, s, o, msg)
	n := s.Len()
	if err := s.Truncate(2); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prefill(context.Background(), make([]int32, n-2)); err != nil {
		t.Fatal(err)
	}
	got, _ := chat(t, s, o, msg)
	fresh, _ := m.NewSession()
	if want, _ := chat(t, fresh, o, msg); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestControlTokensInMessagesAreText: a user cannot end a turn, a template can.
func TestControlTokensInMessagesAreText(t *testing.T) {
	_, s := openProgram(t, talker(t), Options{Threads: 1})
	tmpl, err := s.model.template(ChatOptions{Template: "{{ bos_token }}{{ messages[0].content }}</s>"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		role string
		ends int
	}{{"user", 1}, {"tool", 1}, {"system", 3}, {"assistant", 3}} {
		ids, err := tmpl.tokens([]Message{{Role: tt.role, Content: "a</s>b</s>\uFDD0"}})
		if err != nil {
			t.Fatal(err)
		}
		ends := 0
		for _, id := range ids {
			if id == 2 {
				ends++
			}
		}
		if ends != tt.ends || ids[0] != 1 || ids[1] == 1 {
			t.Errorf("%s: %v has %d ends, want %d, and one beginning", tt.role, ids, ends, tt.ends)
		}
	}
}

func TestTemplatesByName(t *testing.T) {
	p := talker(t)
	if text, err := p.chatTemplate(jinja.NewDict("tools", []any{})); err != nil || !strings.HasPrefix(text, "{{ tools") {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := p.chatTemplate(jinja.NewDict()); err != nil || !strings.HasPrefix(text, "{% for") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestChatErrors(t *testing.T) {
	user := Message{Role: "user", Content: "hi"}
	tests := []struct {
		o    ChatOptions
		msg  Message
		want error
		text string
	}{
		{ChatOptions{Template: "{{ raise_exception('no users') }}"}, user, ErrTemplate, "chat template: no users (raised at line 1, column 19)"},
		{ChatOptions{Template: "a\n{{ x.y }}"}, user, ErrTemplate, "chat template: line 2, column 6: x is undefined"},
		{ChatOptions{Template: "{% if %}"}, user, ErrTemplate, "line 1, column 7"},
		{ChatOptions{Variables: `{"bos_token": ""}`}, user, ErrInput, "bos_token is what the conversation sets"},
		{ChatOptions{Variables: "[]"}, user, ErrInput, "has to be a JSON object"},
		{ChatOptions{}, Message{Role: "user", More: "{"}, ErrInput, "more of a message: line 1"},
		{ChatOptions{}, Message{Role: "user", Content: strings.Repeat("a", 100)}, ErrContextFull, "the program was compiled for 64"},
		{ChatOptions{GenerateOptions: GenerateOptions{Stop: []string{""}}}, user, ErrInput, "a stop string is empty"},
		{ChatOptions{Template: "{{ '' }}"}, user, nil, ""},
	}
	for _, tt := range tests {
		_, s := openProgram(t, talker(t), Options{Threads: 1})
		tt.o.MaxTokens = 1
		var got error
		for _, err := range s.Chat(context.Background(), []Message{tt.msg}, tt.o) {
			got = err
		}
		if !errors.Is(got, tt.want) || got != nil && !strings.Contains(got.Error(), tt.text) {
			t.Errorf("%+v: %v, want %q", tt.o, got, tt.text)
		}
	}
	p := talker(t)
	p.ChatTemplates = ""
	_, s := openProgram(t, p, Options{Threads: 1})
	for _, err := range s.Chat(context.Background(), []Message{user}, ChatOptions{}) {
		if !errors.Is(err, ErrTemplate) || !strings.Contains(err.Error(), "toy has none") {
			t.Errorf("without a template: %v", err)
		}
	}
}

// invokeWith is invoke with an input and interrupts.
func invokeWith(p *Program, in io.Reader, interrupts <-chan os.Signal, args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	c := &cli{program: p, in: in, out: &o, err: &e, interrupts: interrupts}
	status = runWith(context.Background(), c, append([]string{"/bin/toy"}, args...))
	return status, o.String(), e.String()
}

func TestConversation(t *testing.T) {
	p := script(t, 5, 13, 3, 4, 8, 2) // after <s>uhia: héc
	p.ChatTemplates = chatJSON
	status, out, errs := invokeWith(p, strings.NewReader("\nhi\n"), nil, "--chat", "--threads", "1")
	if status != 0 || out != "héc\n" || !strings.Contains(errs, "toy: 1 answers; prompts 5 tokens") {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
	status, out, _ = invokeWith(p, strings.NewReader(""), nil, "--chat", "--threads", "1", "--prompt", "hi", "--stop", "éc")
	if status != 0 || out != "h\n" {
		t.Errorf("with a stop string: status %d, %q", status, out)
	}
	status, out, errs = invokeWith(p, strings.NewReader("hi\\\n"), nil, "--chat", "--threads", "1")
	if status != 0 || out != "héc\n" || !strings.Contains(errs, "toy: 1 answers; prompts 5 tokens") {
		t.Errorf("an end after a backslash: status %d, %q, %q", status, out, errs)
	}
	status, out, errs = invokeWith(p, strings.NewReader("h\\\ni\n"), nil, "--chat", "--threads", "1", "--chat-template", templateFile(t, "{{ messages[0].content | replace('\n', 'u') }}{{ messages[-1].role[0] }}"), "-n", "3")
	if status != 0 || out != "hé\n" || !strings.Contains(errs, "toy: the answer ends after 3 tokens (-n)") {
		t.Errorf("two lines: status %d, %q, %q", status, out, errs)
	}
}

func templateFile(t *testing.T, text string) string {
	file := filepath.Join(t.TempDir(), "own.jinja")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestChatUsage(t *testing.T) {
	p := talker(t)
	silent := talker(t)
	silent.ChatTemplates = ""
	bad := templateFile(t, "{% if %}")
	tests := []struct {
		p    *Program
		args []string
		want string
	}{
		{silent, []string{"--chat"}, "--chat: toy has no chat template: give one with --chat-template FILE"},
		{p, []string{"--chat", "--tokens", "1"}, "--chat and --tokens: give one of them"},
		{p, []string{"--chat", "--json"}, "--chat and --json: give one of them"},
		{p, []string{"--system", "x", "--prompt", "a"}, "--system: give --chat with it"},
		{p, []string{"--chat", "--chat-template-kwargs", "1"}, "--chat-template-kwargs: it has to be a JSON object"},
		{p, []string{"--chat", "--context-shift", "no"}, "--context-shift no: it must be on or off"},
		{p, []string{"--chat", "--chat-template-kwargs", `{"messages": []}`}, "--chat-template-kwargs: messages is what the conversation sets: leave it out"},
		{p, []string{"--chat", "--chat-template", templateFile(t, " \n")}, "it is empty: write a template"},
		{p, []string{"--chat", "--chat-template", bad}, "--chat-template: line 1, column 7: unexpected %}"},
		{p, []string{"--chat", "--chat-template", "/nonexistent"}, "no such file"},
		{p, []string{"--stop", ""}, "it must be a text"},
	}
	for _, tt := range tests {
		status, _, errs := invokeWith(tt.p, strings.NewReader("hi\n"), nil, tt.args...)
		if status != exitUsage || !strings.Contains(errs, tt.want) {
			t.Errorf("%q: status %d, %q, want %q", tt.args, status, errs, tt.want)
		}
	}
	p.ChatTemplates = `{"default": "{{ raise_exception('never') }}"}`
	if status, _, errs := invokeWith(p, strings.NewReader("hi\n"), nil, "--chat"); status != exitFailed || !strings.Contains(errs, "toy: chat template: never (raised at line 1, column 19): --chat-template FILE gives another") {
		t.Errorf("status %d, %q", status, errs)
	}
}

// TestInterrupts sends an interrupt during an answer, which ends it, and one between answers, which ends the program.
func TestInterrupts(t *testing.T) {
	p := talker(t)
	step := p.Funcs[1].Run
	interrupts := make(chan os.Signal)
	first := make(chan struct{})
	steps := 0
	p.Funcs[1].Run = func(w *Worker, a *Args) { // decode
		if steps++; steps == 3 {
			interrupts <- os.Interrupt
			close(first)
			time.Sleep(10 * time.Millisecond) // until the context has ended
		}
		step(w, a)
	}
	in, out := io.Pipe()
	defer out.Close()
	go func() {
		io.WriteString(out, "hi\n")
		<-first
		interrupts <- os.Interrupt
	}()
	status, text, errs := invokeWith(p, in, interrupts, "--chat", "--ignore-eos", "--threads", "1")
	if status != 0 || !strings.Contains(errs, "toy: the answer was interrupted\n") || !strings.HasSuffix(text, "\n") || steps > 50 {
		t.Errorf("status %d, %q, %q, %d steps", status, text, errs, steps)
	}
}
