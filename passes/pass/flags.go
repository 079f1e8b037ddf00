package pass

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Setting is one --debug PASS/FLAG=VALUE. The flags of the pass "all" are those of [AllFlags].
type Setting struct{ Pass, Flag, Value string }

// AllFlags are the flags of the runner, for every pass.
type AllFlags struct {
	Fuel  int64  `debug:"fuel,number of rule applications that are allowed; all later ones are refused"`
	Check string `debug:"check,all: permute the nodes before each pass, as far as data flow allows"`
	Stats bool   `debug:"stats,count the nodes that each rule was tried on"`
}

// DefaultAllFlags are the defaults: no limit on fuel.
var DefaultAllFlags = AllFlags{Fuel: -1}

// NewFlags returns a pointer to a copy of the pass's flags, which have their defaults. The pass has to have flags.
func NewFlags(p *Pass) any {
	flags := reflect.New(reflect.TypeOf(p.Flags))
	flags.Elem().Set(reflect.ValueOf(p.Flags))
	return flags.Interface()
}

// SetFlag sets the field of the struct v whose tag names the setting's flag.
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

// flags returns a pointer to the flags of a pass with the settings applied; nil if the pass has none.
func (o *Options) flags(p *Pass) (any, error) {
	if p.Flags == nil {
		return nil, nil
	}
	return o.fill(NewFlags(p), p.Name)
}

// AllFlags returns the flags of the runner with the settings applied.
func (o *Options) AllFlags() (*AllFlags, error) {
	all := DefaultAllFlags
	_, err := o.fill(&all, "all")
	return &all, err
}

// fill applies the settings of a pass to flags, a pointer to a struct.
func (o *Options) fill(flags any, pass string) (any, error) {
	var errs []error
	for _, s := range o.Debug {
		if s.Pass == pass {
			errs = append(errs, SetFlag(reflect.ValueOf(flags).Elem(), s))
		}
	}
	return flags, errors.Join(errs...)
}
