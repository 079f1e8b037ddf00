package cmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ggmlc/ggmlc/ir/spell"
)

// configName is the file that gen reads if it is given no model.
const configName = "ggmlc.json"

// Keys of a configuration that are no flags of gen.
const (
	keyModels = "models" // the list of packages
	keyAll    = "all"    // flags of all of them
	keyModel  = "model"  // the model of a package
)

// perCommand lists flags that determine how gen reports, or which packages it works on. They are no keys.
var perCommand = []string{"check", "config", "help", "json", "progress", "quiet", "stats", "verbose"}

// ownKeys are flags that two packages cannot share.
var ownKeys = []string{"output", "package", "weights"}

// pathKeys are flags that name files.
var pathKeys = []string{"output", "weights", "grammar", "json-schema", "target-file"}

// entry is one package of a configuration: a command line of gen.
type entry struct {
	at    int64 // byte in the file
	model string
	cmd   *cobra.Command
	flags *genFlags
}

// config is a file that lists packages.
type config struct {
	*jsonReader
	dir     string // paths in the file are relative to this folder
	entries []*entry
}

// readPackages reads a configuration. Its errors name lines and columns.
func readPackages(path string) (*config, error) {
	r, root, err := readJSON(path)
	if err != nil {
		return nil, err
	}
	c := &config{jsonReader: r, dir: filepath.Dir(path)}
	if root.kind != "an object" {
		return nil, c.errorf(root.at, "%s where an object is needed: {%q: [...]}", root.kind, keyModels)
	}
	var models, all *located
	for _, m := range root.members {
		switch m.key {
		case keyModels:
			models = m.value
		case keyAll:
			all = m.value
		default:
			err = errors.Join(err, c.unknownKey(m, []string{keyModels, keyAll}))
		}
	}
	if err != nil {
		return nil, err
	}
	if models == nil || models.kind != "a list" || len(models.items) == 0 {
		return nil, c.errorf(root.at, "it lists no models: write {%q: [{%q: \"x.gguf\", \"output\": \"x\"}]}", keyModels, keyModel)
	}
	if err = c.checkAll(all); err != nil {
		all = nil // so that its faults are reported once
	}
	for _, item := range models.items {
		e, entryErr := c.entry(item, all)
		c.entries = append(c.entries, e)
		err = errors.Join(err, entryErr)
	}
	if err != nil {
		return nil, err
	}
	return c, c.clashes()
}

// checkAll checks the flags of all packages; nil for none.
func (c *config) checkAll(all *located) error {
	if all == nil {
		return nil
	}
	if all.kind != "an object" {
		return c.errorf(all.at, "%s where an object is needed: flags of all packages", all.kind)
	}
	var trial entry
	trial.cmd, trial.flags = newGen()
	var errs []error
	for _, m := range all.members {
		if m.key == keyModel || slices.Contains(ownKeys, m.key) {
			errs = append(errs, c.errorf(m.at, "%q differs between packages: write it into each of them", m.key))
			continue
		}
		errs = append(errs, c.set(&trial, m))
	}
	return errors.Join(errs...)
}

// unknownKey returns the error for a key that is none of those known.
func (c *config) unknownKey(m member, known []string) error {
	hint := spell.Hint(m.key, known)
	if hint == "" && len(known) < 10 {
		hint = " there are " + strings.Join(known, " and ")
	}
	if hint == "" {
		hint = " keys are flags of gen, without dashes before them: see ggmlc gen --help"
	}
	return c.errorf(m.at, "unknown key %q:%s", m.key, hint)
}

// entry reads one package. all are the flags of all packages, or nil.
func (c *config) entry(v, all *located) (*entry, error) {
	e := &entry{at: v.at}
	e.cmd, e.flags = newGen()
	if v.kind != "an object" {
		return e, c.errorf(v.at, "%s where an object is needed: {%q: \"x.gguf\", \"output\": \"x\"}", v.kind, keyModel)
	}
	own := make(map[string]bool)
	for _, m := range v.members {
		own[m.key] = true
	}
	var errs []error
	if all != nil {
		for _, m := range all.members {
			if !own[m.key] {
				errs = append(errs, c.set(e, m))
			}
		}
	}
	for _, m := range v.members {
		errs = append(errs, c.set(e, m))
	}
	if err := errors.Join(errs...); err != nil {
		return e, err
	}
	for _, key := range []string{keyModel, "output"} {
		if !own[key] {
			return e, c.errorf(v.at, "the package has no %q: add it", key)
		}
	}
	if err := e.cmd.PreRunE(e.cmd, nil); err != nil {
		return e, c.errorf(v.at, "%w", err)
	}
	return e, nil
}

// set sets the flag of a key, or the model.
func (c *config) set(e *entry, m member) error {
	if m.key == keyModel {
		text, ok := m.value.value.(string)
		if !ok || text == "" {
			return c.errorf(m.value.at, "%q: write the path of a file as a text, not %s", m.key, m.value.kind)
		}
		e.model = c.path(text)
		return nil
	}
	flag := e.cmd.Flags().Lookup(m.key)
	if flag == nil || slices.Contains(perCommand, m.key) {
		return c.unknownKey(m, c.keys(e.cmd))
	}
	values, err := c.values(flag, m.value)
	if err != nil {
		return err
	}
	for _, text := range values {
		if slices.Contains(pathKeys, m.key) {
			if text = c.path(text); slices.Contains([]string{"output", "weights"}, m.key) && !within(c.dir, text) {
				return c.errorf(m.value.at, "%q: %s is outside of the folder of %s: choose a path inside, or move that file up", m.key, text, c.jsonReader.path)
			}
		}
		if m.key == "source" {
			if name, path, ok := strings.Cut(text, "="); ok && path != "" {
				text = name + "=" + c.path(path)
			}
		}
		if err := e.cmd.Flags().Set(m.key, text); err != nil {
			return c.errorf(m.value.at, "%w", misusedFlag(e.cmd, err))
		}
	}
	return nil
}

// keys returns the keys of a package.
func (c *config) keys(cmd *cobra.Command) []string {
	keys := []string{keyModel}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(perCommand, f.Name) {
			keys = append(keys, f.Name)
		}
	})
	return keys
}

// values returns the texts that a JSON value gives a flag: one, or those of a list where the flag may be repeated.
func (c *config) values(flag *pflag.Flag, v *located) ([]string, error) {
	wants := "a text"
	switch flag.Value.Type() {
	case "int":
		wants = "a number"
	case "bool":
		wants = "true or false"
	}
	items := []*located{v}
	if _, repeated := flag.Value.(pflag.SliceValue); repeated && v.kind == "a list" {
		items = v.items
	}
	var texts []string
	for _, item := range items {
		if item.kind != wants {
			return nil, c.errorf(item.at, "%q: write %s, not %s", flag.Name, wants, item.kind)
		}
		if number, ok := item.value.(json.Number); ok {
			item.value = number.String()
		}
		texts = append(texts, fmt.Sprint(item.value))
	}
	return texts, nil
}

// path returns a path of the file, which is relative to its folder.
func (c *config) path(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.dir, filepath.FromSlash(path))
}

// within reports whether a path, which need not exist, is inside of a folder, with all links resolved.
func within(dir, path string) bool {
	root, err := deepest(dir)
	if err != nil {
		return false
	}
	full, err := deepest(path)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(root, full)
	return err == nil && filepath.IsLocal(rel)
}

// deepest returns the absolute path with the links resolved in the part of it that exists.
func deepest(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	switch parent := filepath.Dir(abs); {
	case err == nil:
		return real, nil
	case !errors.Is(err, os.ErrNotExist) || parent == abs || exists(abs): // exists: a link to nothing
		return "", err
	default:
		real, err = deepest(parent)
		return filepath.Join(real, filepath.Base(abs)), err
	}
}

// clashes refuses packages that would overwrite each other, or the model of another one, and weights in the folder of
// another package, whose files they could replace.
func (c *config) clashes() error {
	var inputs []namedPath
	for _, e := range c.entries {
		inputs = append(inputs, e.flags.inputs(e.model)...)
	}
	inputs = append(inputs, namedPath{"the list of packages", c.jsonReader.path})
	var written []namedPath
	for _, e := range c.entries {
		written = append(written, outputs(namedPath{"output", e.flags.out}, namedPath{"weights", e.flags.weights})...)
	}
	if err := noClash(inputs, written); err != nil {
		return fmt.Errorf("%s: %w", c.jsonReader.path, err)
	}
	var errs []error
	for _, e := range c.entries {
		for _, other := range c.entries {
			if e != other && e.flags.weights != "" && samePath(filepath.Dir(e.flags.weights), other.flags.out) {
				errs = append(errs, c.errorf(e.at, "weights %s: another package has this folder: choose a path outside of it", e.flags.weights))
			}
		}
	}
	return errors.Join(errs...)
}
