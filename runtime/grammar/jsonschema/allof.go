package jsonschema

import (
	"fmt"
	"slices"
	"strings"
)

// allOf returns the rule or expression of values that follow all of several schemas: of one, that schema itself, and of
// several, which describe objects, an object with the members of all.
func (p *part) allOf(list value) string {
	parts, ok := list.([]value)
	switch {
	case !ok || len(parts) == 0:
		p.fail(p.path, "allOf is a list of schemas")
		return ""
	case len(parts) == 1 && !p.hasMembers():
		return p.value(p.inherit(parts[0]), p.name, p.path+"/allOf/0")
	}
	if rule, ok := p.merged[p.object]; ok {
		return rule
	}
	rule := p.fresh(p.name)
	p.merged[p.object] = rule
	m := &merge{writer: p.writer, properties: &object{values: make(map[string]value)}, added: make(map[*object]bool)}
	m.add(p.object, p.path, 0)
	for _, key := range memberKeys {
		p.take(key)
	}
	all := &object{keys: []string{"type", "properties"}, values: map[string]value{"type": "object", "properties": m.properties}}
	if m.required != nil {
		all.keys = append(all.keys, "required")
		all.values["required"] = m.required
	}
	return p.define(rule, p.writer.schema(&part{writer: p.writer, object: all, name: rule, path: p.path}))
}

// memberKeys are the keywords of objects that allOf joins.
var memberKeys = []string{"type", "properties", "required", "allOf"}

// hasMembers reports whether the part describes members beside allOf.
func (p *part) hasMembers() bool {
	return slices.ContainsFunc([]string{"properties", "required"}, func(key string) bool { _, ok := p.get(key); return ok })
}

// merge joins the members of several schemas of objects.
type merge struct {
	*writer
	properties *object
	required   []value
	added      map[*object]bool // what a $ref led to
}

// maxMerge bounds allOf and $ref within each other.
const maxMerge = 32

// add adds the members of a schema, with those of its own allOf and of what it refers to.
func (m *merge) add(v value, path string, depth int) {
	o, ok := v.(*object)
	if !ok || depth > maxMerge {
		m.fail(path, "of several schemas, allOf joins those of objects, at most %d within each other", maxMerge)
		return
	}
	if ref, ok := o.get("$ref"); ok {
		name, _ := ref.(string)
		target, found := m.at(name)
		if !found || !strings.HasPrefix(name, "#") {
			m.fail(path, "$ref %v: there is no such part", ref)
			return
		}
		if o, _ := target.(*object); !m.added[o] { // else time would grow exponentially
			m.add(target, name, depth+1)
			m.added[o] = true
		}
		return
	}
	for _, key := range o.keys {
		if !slices.Contains(memberKeys, key) && !isIgnored(key) || key == "type" && o.values[key] != value("object") {
			m.fail(path, "allOf joins several schemas by the keywords of objects %s; %q is another", strings.Join(memberKeys, ", "), key)
			return
		}
	}
	m.members(o, path)
	if list, ok := o.values["allOf"].([]value); ok {
		for i, v := range list {
			m.add(v, fmt.Sprintf("%s/allOf/%d", path, i), depth+1)
		}
	}
}

// members adds the members that a schema names itself.
func (m *merge) members(o *object, path string) {
	if v, ok := o.get("properties"); ok {
		own, ok := v.(*object)
		if !ok {
			m.fail(path, "properties is an object")
			return
		}
		for _, key := range own.keys {
			if v, ok := m.properties.get(key); ok && encode(v) != encode(own.values[key]) {
				m.fail(path, "two parts of allOf describe the member %q in different ways", key)
			} else if !ok {
				m.properties.keys = append(m.properties.keys, key)
				m.properties.values[key] = own.values[key]
			}
		}
	}
	list, _ := o.values["required"].([]value)
	m.required = append(m.required, list...)
}

// inherit returns a schema with the type that its list has beside it, unless it decides that itself.
func (p *part) inherit(v value) value {
	t, given := p.take("type")
	o, ok := v.(*object)
	if !given || !ok {
		return v
	}
	for _, key := range []string{"type", "$ref", "anyOf", "oneOf", "allOf", "const", "enum"} {
		if _, ok := o.get(key); ok {
			p.noteType(o, t)
			return v
		}
	}
	typed := &object{keys: append(slices.Clone(o.keys), "type"), values: map[string]value{"type": t}}
	for key, v := range o.values {
		typed.values[key] = v
	}
	return typed
}

// noteType notes that the type beside a list of schemas has no effect on one of them, unless that has the same.
func (p *part) noteType(o *object, t value) {
	if ref, ok := o.values["$ref"].(string); ok {
		if target, ok := p.at(ref); ok {
			o, _ = target.(*object)
		}
	}
	own := value(nil)
	if o != nil {
		if own = o.values["type"]; own == nil {
			own = (&part{writer: p.writer, object: o}).impliedType()
		}
	}
	if encode(own) != encode(t) {
		p.note("the type beside a list of schemas is not followed by those that state another or none")
	}
}
