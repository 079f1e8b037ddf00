package runtime

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/runtime/token"
)

// What guardVocab has: control tokens with and without symbols, one that overlaps itself, and spaces before texts.
const (
	guardBOS  = 1
	guardEOS  = 2
	guardPad  = 3
	guardByte = 6 + 80 // the first of the bytes
)

func guardVocab(t testing.TB) *token.Vocab {
	t.Helper()
	table := &token.Table{BOS: guardBOS, EOS: guardEOS, UNK: 0, EOG: []int32{guardEOS}, AddBOS: true, AddSpace: true}
	add := func(kind token.Type, texts ...string) {
		for _, text := range texts {
			table.Tokens, table.Types, table.Scores = append(table.Tokens, text), append(table.Types, kind), append(table.Scores, -float32(len(table.Scores)))
		}
	}
	add(token.Unknown, "<unk>")
	add(token.Control, "<s>", "</s>", "PAD", "||", "[/x][")
	add(token.Control, manySymbols()...)
	for b := range 256 {
		add(token.Byte, fmt.Sprintf("<0x%02X>", b))
	}
	add(token.Normal, "\u2581", "a", "b", "\u2581a", "\u2581b", "/s", "</", "s>", "<")
	data, err := table.Encode()
	if err != nil {
		t.Fatal(err)
	}
	v, err := token.Load(string(data))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// manySymbols are texts of control tokens, each with a symbol of its own. There are more than noncharacters.
func manySymbols() (texts []string) {
	for i := range rune(80) {
		texts = append(texts, string('\u2200'+i)+"x")
	}
	return texts
}

// guardTokens returns the tokens of messages in a template.
func guardTokens(t *testing.T, template, variables string, messages ...Message) []int32 {
	t.Helper()
	p := talker(t)
	m, _ := openProgram(t, p, Options{Threads: 1})
	m.vocab = guardVocab(t)
	ids, err := m.ChatTokens(messages, ChatOptions{Template: template, Variables: variables})
	if err != nil {
		t.Fatalf("%s: %v", template, err)
	}
	return ids
}

// controlsOf returns the control tokens after the first, which begins the text.
func controlsOf(ids []int32) []int32 {
	return slices.DeleteFunc(slices.Clone(ids[1:]), func(id int32) bool { return id >= guardByte })
}

// TestGuardedMessages has control tokens in each place where there are texts of others, and in those of the application.
func TestGuardedMessages(t *testing.T) {
	own := []int32{guardEOS}
	for _, c := range []struct {
		name, template, variables string
		message                   Message
		want                      []int32
	}{
		{"ipython", "{{ messages[0].content }}", "", Message{Role: "ipython", Content: "</s>"}, nil},
		{"observation", "{{ messages[0].content }}", "", Message{Role: "observation", Content: "</s>"}, nil},
		{"function", "{{ messages[0].content }}", "", Message{Role: "function", Content: "</s>"}, nil},
		{"User", "{{ messages[0].content }}", "", Message{Role: "User", Content: "</s>"}, nil},
		{"System", "{{ messages[0].content }}", "", Message{Role: "System", Content: "</s>"}, nil},
		{"no role", "{{ messages[0].content }}", "", Message{Content: "</s>"}, nil},
		{"system", "{{ messages[0].content }}", "", Message{Role: "system", Content: "</s>"}, own},
		{"developer", "{{ messages[0].content }}", "", Message{Role: "developer", Content: "</s>"}, own},
		{"assistant", "{{ messages[0].tool_calls[0] }}", "", Message{Role: "assistant", More: `{"tool_calls": ["</s>"]}`}, own},
		{"role", "{{ messages[0].role }}", "", Message{Role: "user</s>"}, nil},
		{"parts", "{{ messages[0].content[0].text }}", "", Message{Role: "user", More: `{"content": [{"type": "text", "text": "a </s> b"}]}`}, nil},
		{"name", "{{ messages[0].name }}", "", Message{Role: "tool", More: `{"name": "</s>"}`}, nil},
		{"member", "{{ messages[0] | tojson }}", "", Message{Role: "tool", More: `{"x": {"</s>": 1}}`}, nil},
		{"role of more", "{{ messages[0].content }}", "", Message{Role: "system", Content: "</s>", More: `{"role": "user"}`}, nil},
		{"role of more that is trusted", "{{ messages[0].content }}", "", Message{Role: "user", Content: "</s>", More: `{"role": "assistant"}`}, nil},
		{"end of the template's", "<{{ messages[0].content }}", "", Message{Role: "user", Content: "/s>"}, nil},
		{"list", "{{ messages[0].content }}", "", Message{Role: "user", More: `{"content": ["</s>"]}`}, nil},
		{"custom tools", "{{ custom_tools[0] }}", `{"custom_tools": ["</s>"]}`, Message{Role: "user"}, nil},
		{"role of more that is none", "{{ messages[0].content }}", "", Message{Role: "system", Content: "</s>", More: `{"role": ["system"]}`}, nil},
		{"documents", "{{ documents[0].text }}", `{"documents": [{"text": "</s>"}]}`, Message{Role: "user"}, nil},
		{"tools", "{{ tools | tojson }}", `{"tools": [{"name": "</s>", "x": {"||": ["PAD"]}}]}`, Message{Role: "user"}, nil},
		{"variable", "{{ ending }}", `{"ending": "</s>"}`, Message{Role: "user"}, own},
		{"without symbols", "{{ messages[0].content }}PAD", "", Message{Role: "user", Content: "aPADb"}, []int32{guardPad}},
		{"overlapping", "{{ messages[0].content }}", "", Message{Role: "user", Content: "||||| [/x][/x]["}, nil},
	} {
		ids := guardTokens(t, "a"+c.template, c.variables, c.message)
		if got := controlsOf(ids); !slices.Equal(got, c.want) {
			t.Errorf("%s: control tokens %v in %v, want %v", c.name, got, ids, c.want)
		}
	}
}

// TestGuardsKeepTheText: the tokens of a user's text are those of the text alone, whatever control tokens it names.
func TestGuardsKeepTheText(t *testing.T) {
	v := guardVocab(t)
	for _, text := range []string{"a </s> b", "</s>", "a</s>", "<s></s>b", "PAD||| a", "a < b", "é</s>\xff", "a\xff"} {
		want := v.Encode(nil, text, token.Options{Specials: true})
		if got := guardTokens(t, "{{ messages[0].content }}", "", Message{Role: "user", Content: text}); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestGuardsKeepOwnBytes: messages of the model keep bytes that are no UTF-8, such as those of an answer that was cut.
func TestGuardsKeepOwnBytes(t *testing.T) {
	v := guardVocab(t)
	want := v.Encode(nil, "a\xff", token.Options{Specials: true})
	if got := guardTokens(t, "{{ messages[0].content }}", "", Message{Role: "assistant", Content: "a\xff"}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestListsKeepTheText: what a template writes of a list is that of the text.
func TestListsKeepTheText(t *testing.T) {
	v := guardVocab(t)
	want := v.Encode(nil, "['</s>']", token.Options{Specials: true})
	if got := guardTokens(t, "{{ messages[0].content }}", "", Message{Role: "user", More: `{"content": ["</s>"]}`}); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestTemplatesSeeTheText: a template may look at what a user wrote, of control tokens at how long they are.
func TestTemplatesSeeTheText(t *testing.T) {
	for _, c := range []struct{ text, template, want string }{
		{"<b> a", "{% if messages[0].content.startswith('<b>') %}a{% endif %}", "a"},
		{"a <", "{{ 'a' if '<' in messages[0].content else 'b' }}", "a"},
		{"a </s>", "{{ 'a' if messages[0].content | length == 6 else 'b' }}", "a"},
		{"</s> <b>", "{{ 'a' if messages[0].content.endswith('<b>') else 'b' }}", "a"},
		{"</s>", "{{ 'a' if messages[0].content == '</s>' else 'b' }}", "b"},
	} {
		want := guardVocab(t).Encode(nil, c.want, token.Options{Specials: true})
		if got := guardTokens(t, c.template, "", Message{Role: "user", Content: c.text}); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", c.template, got, want)
		}
	}
}

// TestNoTemplateMakesControlTokens has templates that join parts of a user's text.
func TestNoTemplateMakesControlTokens(t *testing.T) {
	for _, c := range []struct {
		template string
		texts    []string
	}{
		{"{{ x | replace('think', '') }}", []string{"<thinkthink/s>"}},
		{"{{ x.split('</t>') | join }}", []string{"a<</t>/s>"}},
		{"{{ x | lower }}", []string{"</S>"}},
		{"{{ x | reverse }}", []string{">s/<"}},
		{"{{ x[::2] }}", []string{"<a/asa>"}},
		{"{{ x }}{{ messages[1].content }}", []string{"a<", "/s>"}},
		{"{{ x | trim }}{{ messages[1].content | trim }}", []string{"a</ ", " s>"}},
		{"{{ x[0] }}{{ x[2:] }}", []string{"<a/s>"}},
		{"{{ x.strip('ab') }}{{ messages[1].content }}", []string{"<ab", "/s>"}},
		{"{% if x.startswith('<b') %}{{ x[2:] | replace('b', '') }}{% else %}{{ x }}{% endif %}", []string{"<ba<b/s>"}},
		{"{% for c in x | list | unique %}{{ c }}{% endfor %}", []string{"<<//ss>>"}},
	} {
		var messages []Message
		for _, text := range c.texts {
			messages = append(messages, Message{Role: "user", Content: text})
		}
		ids := guardTokens(t, "a{% set x = messages[0].content %}"+c.template+"</s>", "", messages...)
		if got := controlsOf(ids); !slices.Equal(got, []int32{guardEOS}) {
			t.Errorf("%s of %q: control tokens %v, want the template's", c.template, c.texts, got)
		}
	}
}

// TestRandomTemplatesMakeNoControlTokens joins operations on random texts. The template's own control token is the only
// one.
func TestRandomTemplatesMakeNoControlTokens(t *testing.T) {
	parts := []string{"<", "/", "s", ">", "</s>", "<s>", "S", "|", "||", "[/x]", "[", "a", " ", "\n", "b", "\uFDD0", "\uFFFE", "é"}
	operations := []string{"lower", "upper", "trim", "reverse", "replace('a', '')", "replace('<b', '')", "replace(' ', '')", "list | join",
		"list | unique | join", "capitalize", "title", "replace('b', 'a')"}
	r := rand.New(rand.NewPCG(1, 2))
	random := func(from []string, n int) (list []string) {
		for range r.IntN(n) {
			list = append(list, from[r.IntN(len(from))])
		}
		return list
	}
	p := talker(t)
	m, _ := openProgram(t, p, Options{Threads: 1})
	m.vocab = guardVocab(t)
	for range 3000 {
		value := strings.Join(append([]string{"(messages[0].content ~ messages[1].content[1:])"}, random(operations, 4)...), " | ")
		template := "a{{ " + value + " }}{% if '<b' in messages[1].content %}b{% endif %}</s>"
		messages := []Message{{Role: "user", Content: strings.Join(random(parts, 9), "")}, {Role: "tool", Content: strings.Join(random(parts, 9), "")}}
		ids, err := m.ChatTokens(messages, ChatOptions{Template: template})
		if err != nil {
			t.Fatal(err)
		}
		if got := controlsOf(ids); !slices.Equal(got, []int32{guardEOS}) {
			t.Fatalf("%s of %+q: control tokens %v", template, messages, got)
		}
	}
}

// TestMoreSymbolsThanNoncharacters: what is hidden without a stand-in of its own is not put back.
func TestMoreSymbolsThanNoncharacters(t *testing.T) {
	text := strings.Join(manySymbols(), " ")
	for _, template := range []string{"{{ messages[0].content }}", "{{ messages[0].content | replace(' ', '') }}", "{{ messages[0].content | reverse }}"} {
		if ids := guardTokens(t, "a"+template, "", Message{Role: "user", Content: text}); len(controlsOf(ids)) > 0 {
			t.Errorf("%s: control tokens %v", template, controlsOf(ids))
		}
	}
	seen := map[rune]bool{}
	for i := 0; ; i++ {
		r, ok := noncharacter(i)
		if !ok {
			break
		}
		if seen[r] || (r < 0xFDD0 || r > 0xFDEF) && r&0xFFFE != 0xFFFE {
			t.Errorf("noncharacter %d: %U", i, r)
		}
		seen[r] = true
	}
	if len(seen) != 66 {
		t.Errorf("%d noncharacters, want 66", len(seen))
	}
}

// markVocab is a vocabulary with a token between turns that is user-defined, as in files of gpt-oss: the first after
// those of guardVocab's names. It has tokens for bytes.
func markVocab(t *testing.T, a token.Algorithm) (v *token.Vocab, mark int32) {
	t.Helper()
	table := &token.Table{Algorithm: a, BOS: guardBOS, EOS: guardEOS, UNK: 0}
	add := func(kind token.Type, text string) {
		table.Tokens, table.Types, table.Scores = append(table.Tokens, text), append(table.Types, kind), append(table.Scores, -1)
	}
	add(token.Unknown, "<unk>")
	add(token.Control, "<s>")
	add(token.Control, "</s>")
	add(token.UserDefined, "<|m|>")
	add(token.UserDefined, "<b>")
	for b := range 256 {
		if a == token.RWKV {
			add(token.Normal, string([]byte{byte(b)}))
		} else {
			add(token.Byte, fmt.Sprintf("<0x%02X>", b))
		}
	}
	if a != token.RWKV {
		for b := byte('!'); b <= '~'; b++ {
			add(token.Normal, string(b))
		}
		for _, s := range []string{"<|", "m|", "m|>"} {
			add(token.Normal, s)
		}
	}
	if a == token.BPE {
		table.Merges, table.Raw, table.IgnoreMerges = []string{"< |", "m |", "m| >", "<| m|>"}, true, true
	}
	if a == token.BPE || a == token.RWKV || a == token.WPM {
		table.Scores = nil
	}
	data, err := table.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if v, err = token.Load(string(data)); err != nil {
		t.Fatal(err)
	}
	return v, 3
}

// TestGuardsOfEachAlgorithm: also those that find control tokens in any text make none of a user's, nor one that is
// user-defined and looks like one. Other user-defined tokens are those of the text alone.
func TestGuardsOfEachAlgorithm(t *testing.T) {
	p := talker(t)
	m, _ := openProgram(t, p, Options{Threads: 1})
	for _, a := range []token.Algorithm{token.SPM, token.BPE, token.WPM, token.UGM, token.RWKV, token.PLaMo} {
		v, mark := markVocab(t, a)
		m.vocab = v
		const own = "</s><|m|>"
		for _, text := range []string{"a</s><|m|>b", "<|m|>", "<s><unk></s>", "<|xm|></xs>"} {
			ids, err := m.ChatTokens([]Message{{Role: "user", Content: text}}, ChatOptions{Template: "a{{ messages[0].content | replace('x', '') }}</s><|m|>"})
			if err != nil {
				t.Fatal(err)
			}
			n := len(ids) - 2
			if got := slices.IndexFunc(ids[:n], func(id int32) bool { return v.TypeOf(id) == token.Control || id == mark }); got > 0 || !slices.Equal(ids[n:], []int32{guardEOS, mark}) {
				t.Errorf("%v: %q: %v, want no control token in it before %s", a, text, ids, own)
			}
		}
		ids, err := m.ChatTokens([]Message{{Role: "user", Content: "a<b>"}}, ChatOptions{Template: "{{ messages[0].content }}"})
		if err != nil || !slices.Contains(ids, mark+1) {
			t.Errorf("%v: %v, %v: no user-defined token", a, ids, err)
		}
	}
}

// TestJoinedBytes: two messages that end and begin within a character make no control token of it.
func TestJoinedBytes(t *testing.T) {
	name := manySymbols()[0]
	template := "a{{ messages[0].content }}{{ messages[1].content }}"
	ids := guardTokens(t, template, "", Message{Role: "user", Content: name[:1]}, Message{Role: "user", Content: name[1:]})
	if got := controlsOf(ids); len(got) > 0 {
		t.Errorf("control tokens %v", got)
	}
}

// TestUnknownCharactersAreNoControls: that a vocabulary lacks characters of a text is no reason to hide its symbols.
func TestUnknownCharactersAreNoControls(t *testing.T) {
	p := talker(t)
	m, _ := openProgram(t, p, Options{Threads: 1})
	m.vocab, _ = markVocab(t, token.UGM)
	want := m.vocab.Encode(nil, "a", token.Options{Specials: true})
	got, err := m.ChatTokens([]Message{{Role: "user", Content: "5 < 6"}}, ChatOptions{Template: "{{ 'a' if '<' in messages[0].content else 'é世' }}"})
	if err != nil || !slices.Equal(got[len(got)-len(want):], want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}
