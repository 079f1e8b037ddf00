package jsonschema

import (
	"fmt"
	"slices"
	"strings"
)

// property is a member of an object.
type property struct {
	text     string // key, colon and value
	required bool
}

// members returns the expression of an object. Its members are in the order of the schema. There are two rules for
// each: one of the text that begins with this member or, where it may be absent, with one after it; and one of the text
// after the members before it, which begins with a comma or ends the object. So white space comes before the choice of
// a member, not once for each.
func (p *part) members() string {
	list := p.properties()
	extra := p.additional(list == nil)
	p.basic("ws")
	if list == nil && extra == "" {
		return `"{" ws "}"`
	}
	one, after, ends := "", `"}"`, true // one is empty if no member may come
	if extra != "" {
		after = p.define(p.fresh(p.name+"-more"), `("," ws `+extra+` ws)* "}"`)
		one = extra + " ws " + after
	}
	for i, m := range slices.Backward(list) {
		text := m.text + " ws " + after
		if !m.required && one != "" {
			text += " | " + one
		}
		one, ends = p.define(p.fresh(fmt.Sprintf("%s-%d", p.name, i)), text), ends && !m.required
		after = p.define(p.fresh(fmt.Sprintf("%s-%d-then", p.name, i)), p.orEnd(`"," ws `+one, ends))
	}
	return `"{" ws (` + p.orEnd(one, ends) + ")"
}

// orEnd returns the expression of a text, or of the end of an object if it may end here.
func (p *part) orEnd(text string, may bool) string {
	if may {
		return text + ` | "}"`
	}
	return text
}

// properties returns the members that the schema names.
func (p *part) properties() []property {
	required := p.required()
	v, ok := p.take("properties")
	if !ok {
		if len(required) > 0 {
			p.fail(p.path, "required names %q, which is not among the properties", required[0])
		}
		return nil
	}
	o, ok := v.(*object)
	if !ok {
		p.fail(p.path, "properties is an object")
		return nil
	}
	var list []property
	for _, key := range o.keys {
		sub := p.value(o.values[key], p.name+"-"+key, p.path+"/properties/"+key)
		list = append(list, property{quote(encode(key)) + ` ws ":" ws ` + sub, slices.Contains(required, key)})
	}
	for _, key := range required {
		if _, ok := o.get(key); !ok {
			p.fail(p.path, "required names %q, which is not among the properties", key)
		}
	}
	return list
}

func (p *part) required() []string {
	v, ok := p.take("required")
	if !ok {
		return nil
	}
	list, ok := v.([]value)
	var names []string
	for _, x := range list {
		name, isText := x.(string)
		ok = ok && isText
		names = append(names, name)
	}
	if !ok {
		p.fail(p.path, "required is a list of names")
	}
	return names
}

// unnamed is true for an object without named members.
type unnamed = bool

// additional returns the expression of other members; "" for none. Without the keyword, an object without named members
// has any others.
func (p *part) additional(bare unnamed) string {
	v, ok := p.take("additionalProperties")
	switch {
	case !ok && !bare, v == false:
		return ""
	case !ok:
		v = true
	}
	sub := p.value(v, p.name+"-value", p.path+"/additionalProperties")
	return p.key() + ` ws ":" ws ` + sub
}

// key returns the expression of a key that is not among the properties.
func (p *part) key() string {
	v, _ := p.get("properties")
	o, ok := v.(*object)
	if !ok || len(o.keys) == 0 {
		return p.basic("string")
	}
	p.basic("char")
	root := new(trie)
	for _, key := range o.keys {
		text := encode(key)
		if strings.Contains(text, `\`) {
			p.fail(p.path, "other members beside %s are not supported, as its name has escapes: write additionalProperties: false", text)
		}
		root.add([]rune(text[1 : len(text)-1]))
	}
	return p.define(p.fresh(p.name+"-key"), `"\"" `+p.others(root, 0))
}

// trie holds the texts that a key must not be.
type trie struct {
	next  map[rune]*trie
	runes []rune // the keys of next, in order
	end   bool   // a text ends here
}

func (t *trie) add(text []rune) {
	if len(text) == 0 {
		t.end = true
		return
	}
	if t.next == nil {
		t.next = make(map[rune]*trie)
	}
	r := text[0]
	if t.next[r] == nil {
		t.next[r] = new(trie)
		t.runes = append(t.runes, r)
	}
	t.next[r].add(text[1:])
}

// others returns the expression of the rest of a key, with its quotation mark, that is none of the texts. Where a key
// leaves the texts, any characters follow. Escapes are not used before that, as they could spell a text. Some characters
// after the last rule there is a new one, as expressions must not be deep.
func (p *part) others(t *trie, depth int) string {
	var parts []string
	if !t.end {
		parts = append(parts, `"\""`)
	}
	var except strings.Builder
	for _, r := range t.runes {
		except.WriteString(classChar(r))
		parts = append(parts, quote(string(r))+" "+p.others(t.next[r], (depth+1)%maxNested))
	}
	parts = append(parts, `[^"\\\x00-\x1f\x7f`+except.String()+`] char* "\""`)
	if depth == maxNested-1 {
		return p.define(p.fresh(p.name+"-key"), strings.Join(parts, " | "))
	}
	return "(" + strings.Join(parts, " | ") + ")"
}

// classChar returns a character for a set of characters.
func classChar(r rune) string { return fmt.Sprintf(`\U%08x`, r) }
