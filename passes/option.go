package passes

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir/spell"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// ParseDebug parses settings separated by commas: PASS/FLAG=VALUE, PASS/FLAG for PASS/FLAG=true, and FLAG=VALUE for
// all/FLAG=VALUE.
func ParseDebug(text string) ([]pass.Setting, error) {
	var settings []pass.Setting
	var errs []error
	for item := range strings.SplitSeq(text, ",") {
		if item == "" {
			continue
		}
		path, value, given := strings.Cut(item, "=")
		name, flag, slash := strings.Cut(path, "/")
		if !slash {
			name, flag = "all", path
		}
		if !given {
			value = "true"
		}
		s := pass.Setting{Pass: name, Flag: flag, Value: value}
		if err := checkSetting(s); err != nil {
			errs = append(errs, err)
			continue
		}
		settings = append(settings, s)
	}
	return settings, errors.Join(errs...)
}

// checkSetting returns an error unless there is such a pass and flag, and the value is one of the flag.
func checkSetting(s pass.Setting) error {
	flags := flagsOf(s.Pass)
	if flags == nil && s.Pass != "all" && Find(s.Pass) == nil {
		return fmt.Errorf("debug %s/%s: there is no pass %s:%s ggmlc passes lists them", s.Pass, s.Flag, s.Pass, spell.Hint(s.Pass, table.names()))
	}
	if flags == nil {
		return fmt.Errorf("debug %s/%s: the pass %s has no flags", s.Pass, s.Flag, s.Pass)
	}
	return pass.SetFlag(reflect.ValueOf(flags).Elem(), s)
}

// flagsOf returns a pointer to a copy of the pass's flags with their defaults; nil if it has none.
func flagsOf(name string) any {
	if name == "all" {
		all := pass.DefaultAllFlags
		return &all
	}
	p := Find(name)
	if p == nil || p.Flags == nil {
		return nil
	}
	return pass.NewFlags(p)
}

// disabled returns which passes of the table, and which of their rules, o.Disable names.
func (t passTable) disabled(o *pass.Options) (passes map[string]bool, rules map[pass.RuleName]bool, err error) {
	passes, rules = make(map[string]bool), make(map[pass.RuleName]bool)
	var errs []error
	for _, name := range o.Disable {
		p := t.find(name)
		declaredBy, _ := t.ruleDoc(name)
		switch {
		case p != nil && p.Required:
			errs = append(errs, fmt.Errorf("disable %s: what follows needs this pass: it cannot be left out", name))
		case p != nil:
			passes[name] = true
		case declaredBy != "":
			rules[pass.RuleName(name)] = true
		default:
			errs = append(errs, fmt.Errorf("disable %s: there is no such pass or rule:%s ggmlc passes lists them", name, t.nearRule(name)))
		}
	}
	return passes, rules, errors.Join(errs...)
}

// nearRule returns " did you mean NAME?" with the pass or rule of the nearest name; see [spell.Hint].
func (t passTable) nearRule(name string) string {
	var names []string
	for _, p := range t {
		names = append(names, p.Name)
		for _, r := range p.Rules {
			names = append(names, string(r.Name))
		}
	}
	return spell.Hint(name, names)
}

// DebugHelp lists the flags of all passes, one in each line.
func DebugHelp() string {
	var b strings.Builder
	writeFlags(&b, "all", reflect.TypeOf(pass.DefaultAllFlags))
	for _, p := range table {
		if p.Flags != nil {
			writeFlags(&b, p.Name, reflect.TypeOf(p.Flags))
		}
	}
	return b.String()
}

func writeFlags(b *strings.Builder, pass string, t reflect.Type) {
	var lines []string
	for i := range t.NumField() {
		name, doc, _ := strings.Cut(t.Field(i).Tag.Get("debug"), ",")
		lines = append(lines, fmt.Sprintf("%-28s %s\n", pass+"/"+name+"="+t.Field(i).Type.String(), doc))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
}
