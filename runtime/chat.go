package runtime

import (
	"context"
	"errors"
	"fmt"
	"iter"
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
	Variables string
}

// ErrTemplate means that a chat template is missing, is wrong, or refuses the messages.
var ErrTemplate = errors.New("chat template")

// Chat continues a conversation: it generates the message after the given ones, which are all messages so far. The
// session keeps what it has of them, as for Prompt. Control tokens that are written in messages of users and tools are
// text.
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
	controls []string // texts of control tokens
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
	return &chatTemplate{m, parsed, vars, m.vocab.Controls()}, nil
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
func (t *chatTemplate) tokens(messages []Message) ([]int32, error) {
	text, err := t.render(messages)
	if err != nil {
		return nil, err
	}
	v := t.model.vocab
	var ids []int32
	for part := range strings.SplitSeq(text, guard) {
		ids = v.Encode(ids, part, token.Options{ParseSpecials: true})
	}
	first := v.Encode(nil, "", token.Options{Specials: true})
	if len(first) > 0 && first[0] == v.BOS() && (len(ids) == 0 || ids[0] != v.BOS()) {
		ids = append([]int32{v.BOS()}, ids...)
	}
	if len(ids) == 0 {
		return nil, templateError("it makes no text of the messages")
	}
	return ids, nil
}

// guard is put inside the names of control tokens in messages of users and tools. The text is cut there before it is
// encoded, so that they are no control tokens. It is a noncharacter of Unicode, which no text has.
const guard = "\U0010FFFE"

// render returns the text of messages, with guards.
func (t *chatTemplate) render(messages []Message) (string, error) {
	list := []any{}
	for _, msg := range messages {
		d, err := t.message(msg)
		if err != nil {
			return "", err
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
	for k, val := range t.vars.All() {
		vars.Set(k, val)
	}
	text, err := t.template.Render(vars, jinja.Options{Now: time.Now()})
	if err != nil {
		return "", templateError("%w", err)
	}
	return text, nil
}

// message returns a message as the template sees it.
func (t *chatTemplate) message(msg Message) (*jinja.Dict, error) {
	content := strings.ReplaceAll(msg.Content, guard, "")
	if msg.Role == "user" || msg.Role == "tool" {
		content = t.guarded(content)
	}
	d := jinja.NewDict("role", msg.Role, "content", content)
	more, err := jsonObject(msg.More)
	if err != nil {
		return nil, inputError("more of a message: %w", err)
	}
	for k, v := range more.All() {
		d.Set(k, v)
	}
	return d, nil
}

// guarded puts guards into the names of control tokens.
func (t *chatTemplate) guarded(text string) string {
	for _, control := range t.controls {
		if _, n := utf8.DecodeRuneInString(control); n < len(control) && strings.Contains(text, control) {
			text = strings.ReplaceAll(text, control, control[:n]+guard+control[n:])
		}
	}
	return text
}
