package service

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/runtime/token"
	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

const ownTemplate = `{%- for m in messages %}
<|begin|>{{ m.role }}: {{ m.content | trim }}<|end|>
{% endfor %}
{% if add_generation_prompt %}
<|begin|>assistant:{% if verbose %} Well,{% endif %}
{% endif %}
`

// writeChatModel writes a random model with a chat template.
func writeChatModel(t *testing.T) (path string) {
	path = filepath.Join(t.TempDir(), "model.gguf")
	vocab := bpeKeys("llama-bpe")
	vocab["tokenizer.chat_template"] = ownTemplate
	writeRandomLlama(t, path, vocab)
	return path
}

// TestProgramsTalkByTheModelsTemplate builds a program of a model with a chat template. It gives the same two answers
// to the tokens of the conversations, which are written out here.
func TestProgramsTalkByTheModelsTemplate(t *testing.T) {
	model := writeChatModel(t)
	exe, v := e2etest.Build(t, model), vocabOf(t, model)
	flags := []string{exe, "-n", "8", "--ignore-eos", "--temp", "0", "--threads", "1"}
	answer := func(text string) string {
		ids := v.Encode(nil, text, token.Options{ParseSpecials: true})
		return string(e2etest.Command{Args: append(flags, "--tokens", strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]"))}.Run(t))
	}
	const head = "<|begin|>system: Be brief.<|end|>\n<|begin|>user: Hello 12<|end|>\n"
	first := answer(head + "<|begin|>assistant: Well,")
	second := answer(head + "<|begin|>assistant: " + strings.TrimSpace(first) + "<|end|>\n<|begin|>user: wit<|end|>\n<|begin|>assistant: Well,")
	want := first + "\n" + second + "\n"

	cmd := exec.Command(exe, append(flags[1:], "--chat", "--system", "Be brief.", "--chat-template-kwargs", `{"verbose": true}`)...)
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader("Hello 12\nwit\n"), &errs
	got, err := cmd.Output()
	if err != nil || string(got) != want {
		t.Errorf("the program says %q, want %q", got, want)
	}
	if !strings.Contains(errs.String(), "story: 2 answers; ") || strings.Contains(errs.String(), ", 0 more were in the cache") {
		t.Errorf("the summary is %q", errs.String())
	}
}

// TestPackagesHaveTheModelsTemplate: what is generated from the model's text alone has the templates, too.
func TestPackagesHaveTheModelsTemplate(t *testing.T) {
	model := writeChatModel(t)
	dir := filepath.Join(t.TempDir(), "story")
	e2etest.GGMLC(t, "gen", model, "-o", dir, "--package", "story")
	if text, err := os.ReadFile(filepath.Join(dir, "chat.json")); err != nil || !bytes.Contains(text, []byte(`"default": "{%- for m in messages`)) {
		t.Errorf("chat.json: %q, %v", text, err)
	}
	e2etest.GGMLC(t, "gen", "--check", model, "-o", dir, "--package", "story")
	e2etest.WriteFile(t, filepath.Join(dir, "chat.json"), bytes.Replace(e2etest.ReadFile(t, filepath.Join(dir, "chat.json")), []byte("trim"), []byte("trin"), 1))
	if err := exec.Command(e2etest.Path(), "gen", "--check", model, "-o", dir, "--package", "story").Run(); err == nil {
		t.Error("a changed chat.json is not noticed")
	}
}

// TestSmallModelTalks is a conversation with a trained model that has no template of its own.
func TestSmallModelTalks(t *testing.T) {
	needtest.Slow(t, "e2e")
	exe := e2etest.Build(t, e2etest.AIDreams(t))
	file := filepath.Join(t.TempDir(), "own.jinja")
	e2etest.WriteFile(t, file, []byte("{% for m in messages %}{{ m.content }} {% endfor %}"))
	out := e2etest.Command{Args: []string{exe, "--chat", "--chat-template", file, "-n", "20", "--stop", "."}, Set: func(c *exec.Cmd) {
		c.Stdin = strings.NewReader("Once upon a time\nThen\n")
	}}.Run(t)
	if lines := strings.Split(string(out), "\n"); len(lines) != 3 || strings.Contains(string(out), ".") || lines[0] == "" {
		t.Errorf("the program says %q", out)
	}
}
