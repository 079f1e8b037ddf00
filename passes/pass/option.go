package pass

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ggmlc/ggmlc/ir"
)

func (p *Pin) Matches(n *ir.Node) bool {
	if r := n.Result(); r != nil && p.Match.MatchString(r.Name) {
		return true
	}
	return n.Pos != "" && p.Match.MatchString(n.Pos)
}

// MatchesWeight reports whether n reads a weight of a name that matches.
func (p *Pin) MatchesWeight(n *ir.Node) bool {
	return slices.ContainsFunc(n.Args, func(v *ir.Value) bool {
		if v == nil {
			return false
		}
		r := v.Root()
		return r.Def != nil && r.Def.Op == ir.OpWeight && p.Match.MatchString(r.Def.Attr.(*ir.WeightAttr).Name)
	})
}

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

// Setting is one --debug PASS/FLAG=VALUE. The pass "all" has the flags of AllFlags.
type Setting struct{ Pass, Flag, Value string }

// AllFlags are the flags that concern the runner and every pass.
type AllFlags struct {
	Fuel  int64  `debug:"fuel,applications of rules that are allowed before all others are refused"`
	Check string `debug:"check,all: permute nodes before each pass as far as data flow allows, and verify behind those that say they changed nothing"`
	Stats bool   `debug:"stats,count what each rule tried and matched"`
}

// DefaultAllFlags has no limit on fuel.
var DefaultAllFlags = AllFlags{Fuel: -1}

func NewFlags(p *Pass) any {
	flags := reflect.New(reflect.TypeOf(p.Flags))
	flags.Elem().Set(reflect.ValueOf(p.Flags))
	return flags.Interface()
}

// SetFlag sets the field of the struct v whose tag has the setting's flag as name.
func SetFlag(v reflect.Value, s Setting) error {
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
	return o.fill(NewFlags(p), p.Name)
}

func (o *Options) AllFlags() (*AllFlags, error) {
	all := DefaultAllFlags
	_, err := o.fill(&all, "all")
	return &all, err
}

func (o *Options) fill(flags any, pass string) (any, error) {
	var errs []error
	for _, s := range o.Debug {
		if s.Pass == pass {
			errs = append(errs, SetFlag(reflect.ValueOf(flags).Elem(), s))
		}
	}
	return flags, errors.Join(errs...)
}
