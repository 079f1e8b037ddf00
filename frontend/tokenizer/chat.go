package tokenizer

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// The keys of chat templates. Further ones are named by a key each: tokenizer.chat_template.tool_use.
const (
	keyChat      = "tokenizer.chat_template"
	keyChatNames = "tokenizer.chat_templates"
)

// defaultChat is the name of the template that has no name in the file.
const defaultChat = "default"

// ChatTemplates returns a model's chat templates as a JSON object of names and templates, or nil if there are none.
func ChatTemplates(src Source) ([]byte, error) {
	keys := map[string]string{}
	if src.Has(keyChat) {
		keys[defaultChat] = keyChat
	}
	if src.Has(keyChatNames) {
		names, err := src.Strings(keyChatNames)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if key := keyChat + "." + name; src.Has(key) {
				keys[name] = key
			}
		}
	}
	templates := map[string]string{}
	for name, key := range keys {
		text, err := src.String(key)
		if err != nil {
			return nil, err
		}
		if !utf8.ValidString(name + text) {
			return nil, src.KeyError(key, "is no UTF-8 text: convert the model again")
		}
		if strings.TrimSpace(text) != "" {
			templates[name] = text
		}
	}
	if len(templates) == 0 {
		return nil, nil
	}
	return encodeTemplates(templates)
}

// encodeTemplates writes an object with a line for each template, in the order of their names.
func encodeTemplates(templates map[string]string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	err := e.Encode(templates) // in the order of the keys
	return slices.Clip(b.Bytes()), err
}
