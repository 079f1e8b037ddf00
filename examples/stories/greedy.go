package main

import (
	"bytes"
	"encoding/json"
	"os"
)

// greedyPrompts are the prompts of the reference file; the last ones hold text
// that the training never had.
var greedyPrompts = []string{
	"Once upon a time",
	"Lily had a red ball.",
	"One day, Tom and Coco",
	"",
	"The bear was afraid of the storm",
	"Zürich, 2026: a cat",
}

// greedyTokens is how many tokens follow each prompt at most.
const greedyTokens = 64

// greedyCase is one prompt with the output of the model at temperature 0.
type greedyCase struct {
	Prompt    string    `json:"prompt"`
	Tokens    []int32   `json:"tokens"` // of the prompt, with the begin token
	Greedy    []int32   `json:"greedy"` // always the largest logit; ends with the end token if that comes
	MinMargin float32   `json:"min_margin"`
	Text      string    `json:"text"`
	Logits    []float32 `json:"logits"` // from which the first id was chosen
}

func (m *Model) greedyCase(prompt string) greedyCase {
	c := greedyCase{Prompt: prompt, Tokens: m.Vocab.Encode(prompt)}
	for id, logits := range m.generate(c.Tokens, greedyTokens, 0, 0) {
		if c.Logits == nil {
			c.Logits, c.MinMargin = logits, lead(logits)
		}
		c.Greedy = append(c.Greedy, id)
		c.MinMargin = min(c.MinMargin, lead(logits))
	}
	decode := m.Vocab.Decode
	if prompt == "" {
		decode = m.Vocab.DecodeText
	}
	c.Text = decode(c.Greedy)
	return c
}

// greedyJSON is the reference file: a JSON array with a line for each prompt.
func (m *Model) greedyJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, prompt := range greedyPrompts {
		b.WriteString(map[bool]string{true: "[\n ", false: ",\n "}[i == 0])
		line, err := json.Marshal(m.greedyCase(prompt))
		if err != nil {
			return nil, err
		}
		b.Write(line)
	}
	b.WriteString("\n]\n")
	return b.Bytes(), nil
}

func (m *Model) writeGreedy(path string) error {
	data, err := m.greedyJSON()
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}
