package runtime

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// flags is the set of flags of one command. Package flag is not used because of its messages, the start-up time of
// its global state, and because it allows no positional arguments between flags.
type flags struct{ list []flag }

type flag struct {
	name  string
	value string // name of the argument in the help text; "" for a switch
	help  string
	set   func(string) error
}

// usageError is a wrong command line: exit status 2.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func (u usageError) Unwrap() error { return u.error }

// Errors of parse for -h and --help, and for --version.
var (
	errHelp    = errors.New("help wanted")
	errVersion = errors.New("version wanted")
)

func (f *flags) add(name, value, help string, set func(string) error) {
	f.list = append(f.list, flag{name, value, help, set})
}

func (f *flags) text(to *string, name, value, help string) {
	f.add(name, value, help, func(s string) error { *to = s; return nil })
}

// given adds a flag whose value is not empty.
func (f *flags) given(to *string, name, value, help, what string) {
	f.add(name, value, help, func(s string) error {
		if *to = s; s == "" {
			return errors.New("it must be " + what)
		}
		return nil
	})
}

func (f *flags) on(to *bool, name, help string) {
	f.add(name, "", help, func(string) error { *to = true; return nil })
}

// number adds a flag for an integer that is at least least.
func (f *flags) number(to *int, name, value, help string, least int) {
	f.add(name, value, help, func(s string) (err error) {
		*to, err = wholeNumber(s, least)
		return err
	})
}

// numbers adds a flag for a comma-separated list of integers that are at least least.
func (f *flags) numbers(to *[]int, name, value, help string, least int) {
	f.add(name, value, help, func(s string) error {
		var list []int
		for word := range strings.SplitSeq(s, ",") {
			n, err := wholeNumber(word, least)
			if err != nil {
				return fmt.Errorf("write whole numbers, at least %d, with commas between them", least)
			}
			list = append(list, n)
		}
		*to = list
		return nil
	})
}

func wholeNumber(s string, least int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least {
		return 0, fmt.Errorf("it must be a whole number, at least %d", least)
	}
	return n, nil
}

func (f *flags) seed(to *uint64, set *bool, name, value, help string) {
	f.add(name, value, help, func(s string) (err error) {
		*set = true
		if *to, err = strconv.ParseUint(s, 0, 64); err != nil {
			return errors.New("it must be a whole number from 0 to 2^64-1")
		}
		return nil
	})
}

func (f *flags) float(to *float32, name, value, help string) {
	f.add(name, value, help, func(s string) error {
		x, err := strconv.ParseFloat(s, 32)
		if err != nil || x != x {
			return errors.New("it must be a number")
		}
		*to = float32(x)
		return nil
	})
}

// parse sets the flags in args, written --name value or --name=value, or with one dash, and returns the other
// arguments. No argument after "--" is a flag.
func (f *flags) parse(args []string) (rest []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			return append(rest, args...), nil
		}
		if len(arg) < 2 || arg[0] != '-' {
			rest = append(rest, arg)
			continue
		}
		if args, err = f.one(arg, args); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// one sets the flag that arg names and returns args without its value.
func (f *flags) one(arg string, args []string) ([]string, error) {
	name, value, given := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
	if name == "h" || name == "help" {
		return nil, errHelp
	}
	fl := f.find(name)
	if fl == nil && name == "version" {
		return nil, errVersion
	}
	switch {
	case fl == nil:
		return nil, usagef("unknown flag %s: -h lists the flags", arg)
	case fl.value == "" && given:
		return nil, usagef("%s takes no value", arg[:strings.IndexByte(arg, '=')])
	case fl.value != "" && !given:
		if len(args) == 0 {
			return nil, usagef("%s needs a value: %s %s", arg, arg, fl.value)
		}
		value, args = args[0], args[1:]
	}
	if err := fl.set(value); err != nil {
		if value == "" {
			value = `""` // so that it is seen
		}
		return nil, usagef("%s %s: %w", arg, value, err)
	}
	return args, nil
}

func (f *flags) find(name string) *flag {
	for i := range f.list {
		if f.list[i].name == name {
			return &f.list[i]
		}
	}
	return nil
}

// help prints the flags as a table.
func (f *flags) help() string {
	var b strings.Builder
	for _, fl := range f.list {
		dashes := "--"
		if len(fl.name) == 1 {
			dashes = "-"
		}
		fmt.Fprintf(&b, "  %-24s %s\n", dashes+fl.name+" "+fl.value, fl.help)
	}
	return b.String()
}
