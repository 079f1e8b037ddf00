package runtime

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ggmlc/ggmlc/runtime/jinja"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// Message is a message of a conversation.
type Message struct {
	Role    string // as the template names it: system, user, assistant, tool
	Content string

	// More are other members that the template reads, such as tool_calls, as a JSON object; "" for none.
	More string
}

// ChatOptions control a conversation.
type ChatOptions struct {
	GenerateOptions

	// Template is a chat template in Jinja, in place of the model's own.
	Template string

	// Variables are what else the template reads, such as tools or enable_thinking, as a JSON object; "" for none.
	// Control tokens that are written in tools and documents are text.
	Variables string
}

// ErrTemplate means that a chat template is missing, is wrong, or refuses the messages.
var ErrTemplate = errors.New("chat template")

// Chat continues a conversation: it generates the message after the given ones, which are all messages so far. The
// session keeps what it has of them, as for Prompt. Control tokens that are written in messages are text, except in
// those of the roles system, developer and assistant.
func (s *Session) Chat(ctx context.Context, messages []Message, o ChatOptions) iter.Seq2[Token, error] {
	t, err := s.model.template(o)
	if err != nil {
		return s.failed(ctx, err)
	}
	return func(yield func(Token, error) bool) {
		prompt, err := t.tokens(messages)
		if err != nil {
			s.failed(ctx, err)(yield)
			return
		}
		o.Whole = true
		s.GenerateTokens(ctx, prompt, o.GenerateOptions)(yield)
	}
}

// ChatTokens returns the prompt that Chat runs for messages. Of the options it reads Template and Variables.
func (m *Model) ChatTokens(messages []Message, o ChatOptions) ([]int32, error) {
	t, err := m.template(o)
	if err != nil {
		return nil, err
	}
	return t.tokens(messages)
}

// chatTemplate is a template with what it needs of the model.
type chatTemplate struct {
	model    *Model
	template *jinja.Template
	vars     *jinja.Dict
	guards   *guards
}

// template returns the chat template of some options.
func (m *Model) template(o ChatOptions) (*chatTemplate, error) {
	switch {
	case m.program.LM == nil:
		return nil, inputError("%s is no language model: use Call", m.program.Name)
	case m.vocab == nil:
		return nil, inputError("a conversation: %s has no tokenizer", m.program.Name)
	}
	vars, err := jsonObject(o.Variables)
	if err == nil {
		err = checkVariables(vars)
	}
	if err != nil {
		return nil, inputError("variables of the chat template: %w", err)
	}
	text := o.Template
	if text == "" {
		if text, err = m.program.chatTemplate(vars); err != nil {
			return nil, err
		}
	}
	parsed, err := jinja.Parse(text)
	if err != nil {
		return nil, templateError("%w", err)
	}
	return &chatTemplate{m, parsed, vars, newGuards(m.vocab)}, nil
}

// checkVariables refuses names that a conversation sets itself.
func checkVariables(vars *jinja.Dict) error {
	for _, name := range []string{"messages", "add_generation_prompt", "bos_token", "eos_token"} {
		if _, ok := vars.Get(name); ok {
			return fmt.Errorf("%s is what the conversation sets: leave it out", name)
		}
	}
	return nil
}

func templateError(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrTemplate, fmt.Errorf(format, args...))
}

// jsonObject returns a JSON object as a dictionary; "" is empty.
func jsonObject(text string) (*jinja.Dict, error) {
	if text == "" {
		return jinja.NewDict(), nil
	}
	v, err := jinja.FromJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	d, ok := v.(*jinja.Dict)
	if !ok {
		return nil, errors.New("it has to be a JSON object, such as {\"enable_thinking\": false}")
	}
	return d, nil
}

// Names of chat templates in model files.
const (
	defaultTemplate = "default"
	toolTemplate    = "tool_use" // for conversations with tools, if the model has two
)

// chatTemplate returns the model's own template for some variables.
func (p *Program) chatTemplate(vars *jinja.Dict) (string, error) {
	all, err := jsonObject(p.ChatTemplates)
	if err != nil {
		p.broken("ChatTemplates: %v", err)
	}
	if _, ok := vars.Get("tools"); ok {
		if text, ok := all.Get(toolTemplate); ok {
			return text.(string), nil
		}
	}
	if text, ok := all.Get(defaultTemplate); ok {
		return text.(string), nil
	}
	if all.Len() > 0 {
		return "", templateError("%s has none for plain conversations: give one", p.Name)
	}
	return "", templateError("%s has none: give one", p.Name)
}

// tokens renders messages and returns their tokens.
//
// A template that looks at characters of untrusted texts should see them. One that joins parts of such texts must not
// make a control token of them. So the messages are rendered with names of control tokens hidden, and again with all
// symbols that such names have. The first is the prompt if it has the control tokens of the second, and another text.
func (t *chatTemplate) tokens(messages []Message) ([]int32, error) {
	now := time.Now()
	text, given, exact, err := t.render(messages, now, false)
	if err != nil {
		return nil, err
	}
	ids := t.encode(text, given)
	if !exact {
		strict, hidden, _, err := t.render(messages, now, true)
		if err != nil {
			return nil, err
		}
		if strict == text || !slices.Equal(t.controls(text, given), t.controls(strict, hidden)) {
			ids = t.encode(strict, hidden)
		}
	}
	v := t.model.vocab
	first := v.Encode(nil, "", token.Options{Specials: true})
	if len(first) > 0 && first[0] == v.BOS() && (len(ids) == 0 || ids[0] != v.BOS()) {
		ids = append([]int32{v.BOS()}, ids...)
	}
	if len(ids) == 0 {
		return nil, templateError("it makes no text of the messages")
	}
	return ids, nil
}

// encode returns the tokens of a rendered text.
func (t *chatTemplate) encode(text string, given []token.Span) []int32 {
	return t.model.vocab.Encode(nil, text, token.Options{ParseSpecials: true, Given: given})
}

// controls returns the control tokens of a rendered text. Unknown tokens of characters that the vocabulary lacks are none.
func (t *chatTemplate) controls(text string, given []token.Span) []int32 {
	return t.model.vocab.FindControls(text, token.Options{ParseSpecials: true, Given: given})
}

// render returns the text of messages, and the parts of it that are in no control token. Of untrusted texts it hides
// control tokens, and if strict all their symbols. It is exact if such texts have none of these, and are UTF-8, so that
// strict would make no difference.
func (t *chatTemplate) render(messages []Message, now time.Time, strict bool) (text string, given []token.Span, exact bool, err error) {
	exact = true
	hide := func(s string) string {
		s = t.guards.hideNames(t.guards.clean(s))
		exact = exact && !strings.ContainsAny(s, t.guards.symbols) && utf8.ValidString(s)
		if strict {
			s = t.guards.hideSymbols(s)
		}
		return s
	}
	list := []any{}
	for _, msg := range messages {
		d, err := t.message(msg, hide)
		if err != nil {
			return "", nil, false, err
		}
		list = append(list, d)
	}
	vars := jinja.NewDict("messages", list, "add_generation_prompt", true)
	v := t.model.vocab
	for name, id := range map[string]int32{"bos_token": v.BOS(), "eos_token": v.EOS()} {
		if id != token.None {
			vars.Set(name, v.Text(id))
		}
	}
	for name, value := range t.vars.All() {
		change := t.guards.clean
		if slices.Contains(foreignVariables, name.(string)) {
			change = hide
		}
		vars.Set(name, changeTexts(value, change))
	}
	text, err = t.template.Render(vars, jinja.Options{Now: now})
	if err != nil {
		return "", nil, false, templateError("%w", err)
	}
	text, given = t.guards.show(text)
	return text, given, exact, nil
}

// trustedRoles are the roles whose messages are the application's and the model's own.
var trustedRoles = []any{"system", "developer", "assistant"}

// foreignVariables are variables of templates with texts of others: descriptions of tools come from their servers;
// custom_tools is the name that templates of Llama 3 also take. The
// other ones may have control tokens, such as one that begins answers.
var foreignVariables = []string{"custom_tools", "documents", "tools"}

// message returns a message as the template sees it. Hide changes the texts of untrusted ones.
func (t *chatTemplate) message(msg Message, hide func(string) string) (any, error) {
	d := jinja.NewDict("role", msg.Role, "content", msg.Content)
	more, err := jsonObject(msg.More)
	if err != nil {
		return nil, inputError("more of a message: %w", err)
	}
	for k, v := range more.All() {
		d.Set(k, v)
	}
	if role, _ := d.Get("role"); slices.Contains(trustedRoles, role) && slices.Contains(trustedRoles, any(msg.Role)) {
		hide = t.guards.clean
	}
	return changeTexts(d, hide), nil
}
