package passes

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ggmlc/ggmlc/ir/spell"
)

// Options are what the user decides about a compilation. The zero value is the default of
// every option.
type Options struct {
	Rules     string           // cost (the default), ggml-2024 or ggml-2026
	Pins      []Pin            // nodes that the user puts on a backend; the first match wins
	Deny      []string         // targets that may not be used; the last one only where no other runs a node
	MaxMemory map[string]int64 // bytes, by backend or space
	Threads   int              // bound of the number of workers; 0 is the target's
	Pipeline  int              // steps that may be under way at once; 0 is 1
	AllowBF16 bool             // weights of f16 may be rounded to bf16 where products are faster so
	CPU       []string         // the processor's implementations that the program is limited to; empty is all
	PlanSteps int              // budget of the planner's search; 0 is its default
	PlanTime  time.Duration    // cuts the search by the clock; 0 is never
	Seed      uint64           // of Context.Rand
	Disable   []string         // passes and rules that are off
	Debug     []Setting        // see ParseDebug
}

// Pin puts nodes on a backend. The expression is matched with the name of the node's first
// result and with its position in the model file.
type Pin struct {
	Match   *regexp.Regexp
	Backend string
}

// ParsePin reads REGEX=backend.
func ParsePin(text string) (Pin, error) {
	i := strings.LastIndexByte(text, '=')
	if i <= 0 || i == len(text)-1 {
		return Pin{}, fmt.Errorf("pin %q: write REGEX=BACKEND", text)
	}
	re, err := regexp.Compile(text[:i])
	if err != nil {
		return Pin{}, fmt.Errorf("pin %q: %w", text, err)
	}
	return Pin{Match: re, Backend: text[i+1:]}, nil
}

// String returns the pin as ParsePin reads it.
func (p Pin) String() string { return p.Match.String() + "=" + p.Backend }

// Setting is one --debug PASS/FLAG=VALUE. The pass "all" has the flags of allFlags.
type Setting struct{ Pass, Flag, Value string }

// allFlags are the flags that concern the runner and every pass.
type allFlags struct {
	Fuel  int64  `debug:"fuel,applications of rules that are allowed before all others are refused"`
	Check string `debug:"check,all: permute nodes before each pass as far as data flow allows, and verify behind those that say they changed nothing"`
	Stats bool   `debug:"stats,count what each rule tried and matched"`
}

// defaultAllFlags has no limit on fuel.
var defaultAllFlags = allFlags{Fuel: -1}

// ParseDebug reads settings separated by commas: PASS/FLAG or PASS/FLAG=VALUE; without a
// value a flag is set to true. check=all is short for all/check=all.
func ParseDebug(text string) ([]Setting, error) {
	var settings []Setting
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
		s := Setting{name, flag, value}
		if err := checkSetting(s); err != nil {
			errs = append(errs, err)
			continue
		}
		settings = append(settings, s)
	}
	return settings, errors.Join(errs...)
}

func checkSetting(s Setting) error {
	flags := flagsOf(s.Pass)
	if flags == nil && s.Pass != "all" && Find(s.Pass) == nil {
		return fmt.Errorf("debug %s/%s: there is no pass %s:%s ggmlc passes lists them", s.Pass, s.Flag, s.Pass, nearPass(s.Pass))
	}
	if flags == nil {
		return fmt.Errorf("debug %s/%s: the pass %s has no flags", s.Pass, s.Flag, s.Pass)
	}
	return setFlag(reflect.ValueOf(flags).Elem(), s)
}

// flagsOf returns a pointer to a fresh copy of the pass's flags with their defaults; nil
// where it has none.
func flagsOf(name string) any {
	if name == "all" {
		all := defaultAllFlags
		return &all
	}
	p := Find(name)
	if p == nil || p.Flags == nil {
		return nil
	}
	return newFlags(p)
}

func newFlags(p *Pass) any {
	flags := reflect.New(reflect.TypeOf(p.Flags))
	flags.Elem().Set(reflect.ValueOf(p.Flags))
	return flags.Interface()
}

// setFlag sets the field of the struct v whose tag has the setting's flag as name.
func setFlag(v reflect.Value, s Setting) error {
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("debug"), ",")
		if name != s.Flag {
			continue
		}
		if err := setValue(v.Field(i), s.Value); err != nil {
			return fmt.Errorf("debug %s/%s=%s: %w", s.Pass, s.Flag, s.Value, err)
		}
		return nil
	}
	return fmt.Errorf("debug %s/%s: there is no such flag: --debug help lists them", s.Pass, s.Flag)
}

func setValue(v reflect.Value, text string) error {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("true or false is wanted")
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("a whole number is wanted")
		}
		v.SetInt(n)
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("a number is wanted")
		}
		v.SetFloat(x)
	default:
		panic("passes: internal error: a flag of kind " + v.Kind().String())
	}
	return nil
}

// flags returns a pointer to the flags of a pass with the settings applied; nil for none.
func (o *Options) flags(p *Pass) (any, error) {
	if p.Flags == nil {
		return nil, nil
	}
	return o.fill(newFlags(p), p.Name)
}

func (o *Options) allFlags() (*allFlags, error) {
	all := defaultAllFlags
	_, err := o.fill(&all, "all")
	return &all, err
}

func (o *Options) fill(flags any, pass string) (any, error) {
	var errs []error
	for _, s := range o.Debug {
		if s.Pass == pass {
			errs = append(errs, setFlag(reflect.ValueOf(flags).Elem(), s))
		}
	}
	return flags, errors.Join(errs...)
}

// disabled sorts o.Disable into passes and rules.
func disabled(o *Options) (passes, rules map[string]bool, err error) {
	passes, rules = make(map[string]bool), make(map[string]bool)
	var errs []error
	for _, name := range o.Disable {
		p := Find(name)
		_, isRule := RuleDoc(name)
		switch {
		case p != nil && p.Required:
			errs = append(errs, fmt.Errorf("disable %s: what follows needs this pass: it cannot be left out", name))
		case p != nil:
			passes[name] = true
		case isRule != "":
			rules[name] = true
		default:
			errs = append(errs, fmt.Errorf("disable %s: there is no such pass or rule:%s ggmlc passes lists them", name, nearRule(name)))
		}
	}
	return passes, rules, errors.Join(errs...)
}

// nearRule returns " did you mean NAME?" with the pass or rule of the nearest name.
func nearRule(name string) string {
	var names []string
	for _, p := range Passes() {
		names = append(names, p.Name)
		for _, r := range p.Rules {
			names = append(names, r.Name)
		}
	}
	return spell.Hint(name, names)
}

// DebugHelp lists every flag of every pass, one a line.
func DebugHelp() string {
	var b strings.Builder
	writeFlags(&b, "all", reflect.TypeOf(defaultAllFlags))
	for _, p := range pipeline {
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
