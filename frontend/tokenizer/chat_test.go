package tokenizer

import (
	"strings"
	"testing"
)

func TestChatTemplates(t *testing.T) {
	const text = "{% for m in messages %}<{{ m.role }}> \"é\"\n{% endfor %}"
	tests := []struct {
		name string
		with keys
		want string // "" for none; after "error: " part of the error
	}{
		{"none", nil, ""},
		{"an empty one", keys{keyChat: " \n"}, ""},
		{"one", keys{keyChat: text}, `{
	"default": "{% for m in messages %}<{{ m.role }}> \"é\"\n{% endfor %}"
}
`},
		{"named ones", keys{keyChat: "a", keyChatNames: []string{"tool_use", "rag"}, keyChat + ".tool_use": "b", keyChat + ".rag": "c"}, `{
	"default": "a",
	"rag": "c",
	"tool_use": "b"
}
`},
		{"a name without a template", keys{keyChat: "a", keyChatNames: []string{"x"}}, "{\n\t\"default\": \"a\"\n}\n"},
		{"a number", keys{keyChat: uint32(1)}, `error: m.gguf: key "tokenizer.chat_template" (at `},
		{"names that are none", keys{keyChat: "a", keyChatNames: "x"}, `error: m.gguf: key "tokenizer.chat_templates"`},
		{"no UTF-8", keys{keyChat: "\xff"}, "error: m.gguf: key "},
	}
	for _, tt := range tests {
		got, err := ChatTemplates(open(t, change(tt.with)))
		want, isError := strings.CutPrefix(tt.want, "error: ")
		switch {
		case isError && (err == nil || !strings.HasPrefix(err.Error(), want)):
			t.Errorf("%s: %v, want %q", tt.name, err, want)
		case !isError && (err != nil || string(got) != want):
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, want)
		}
	}
}
