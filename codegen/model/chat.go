package model

import (
	"context"
	"iter"

	"github.com/ggmlc/ggmlc/runtime"
)

//api:if chat

// Message is a message of a conversation.
type Message struct {
	Role    string // as the template names it: system, user, assistant, tool
	Content string
	More    string // other members that the template reads, such as tool_calls, as a JSON object; "" for none
}

// ChatOptions configure a conversation.
type ChatOptions struct {
	GenerateOptions

	// Template is a chat template in Jinja, in place of the model's own.
	Template string

	// Variables are what else the template reads, such as tools or enable_thinking, as a JSON object; "" for none.
	Variables string
}

// runtime returns the options as package runtime has them, for a session.
func (o ChatOptions) runtime(s *Session) runtime.ChatOptions {
	return runtime.ChatOptions{GenerateOptions: o.GenerateOptions.runtime(s), Template: o.Template, Variables: o.Variables}
}

// Chat generates the message that follows those of a conversation, all so far, by the model's chat template. What the
// session has of them is not run again. Names of special tokens in messages of users and tools are text.
func (s *Session) Chat(ctx context.Context, messages []Message, o ChatOptions) iter.Seq2[Token, error] {
	return tokensOf(s.s.Chat(ctx, messagesOf(messages), o.runtime(s)))
}

// ChatTokens returns the prompt that Chat would run for a conversation. Of the options it reads Template and Variables.
func (m *Model) ChatTokens(messages []Message, o ChatOptions) ([]int32, error) {
	return m.m.ChatTokens(messagesOf(messages), runtime.ChatOptions{Template: o.Template, Variables: o.Variables})
}

// HasChatTemplate reports whether the model has a chat template of its own.
func (m *Model) HasChatTemplate() bool { return program.ChatTemplates != "" }

// messagesOf returns messages as package runtime has them.
func messagesOf(messages []Message) []runtime.Message {
	list := make([]runtime.Message, len(messages))
	for i, msg := range messages {
		list[i] = runtime.Message(msg)
	}
	return list
}

//api:end
