package target

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/spell"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// Parse reads targets from text, one a line, highest priority first:
//
//	target NAME FIELD=VALUE ...
//
// A "#" begins a comment. The fields are those of Fields; space is needed unless like
// names a built-in descriptor whose fields are then the defaults. name is the text's name
// in errors, which are joined and located.
func Parse(name, text string) (*List, error) {
	var ds []*Descriptor
	var errs []error
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		d, err := parseLine(line)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d:%w", name, i+1, err))
			continue
		}
		ds = append(ds, d)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	l, err := NewList(ds...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
}

// ParseDescriptor reads one target without the keyword, as it stands in the header of a
// dump: NAME FIELD=VALUE ...
func ParseDescriptor(text string) (*Descriptor, error) {
	d, err := parseLine("target " + text)
	if err != nil {
		return nil, fmt.Errorf("target %s: column %w", text, err)
	}
	return d, nil
}

// word is a blank-separated part of a line and its column, counted from 1.
type word struct {
	text string
	col  int
}

func (w word) errorf(format string, args ...any) error {
	return fmt.Errorf("%d: %w", w.col, fmt.Errorf(format, args...))
}

func words(line string) []word {
	var ws []word
	for i := 0; i < len(line); {
		if line[i] == ' ' || line[i] == '\t' || line[i] == '\r' {
			i++
			continue
		}
		j := i
		for j < len(line) && line[j] != ' ' && line[j] != '\t' && line[j] != '\r' {
			j++
		}
		ws = append(ws, word{line[i:j], i + 1})
		i = j
	}
	return ws
}

func parseLine(line string) (*Descriptor, error) {
	ws := words(line)
	if ws[0].text != "target" {
		return nil, ws[0].errorf("a line begins with the word target, not %q", ws[0].text)
	}
	if len(ws) < 2 || strings.Contains(ws[1].text, "=") {
		return nil, ws[len(ws)-1].errorf("the name of the target is missing")
	}
	d, err := base(ws[2:])
	if err != nil {
		return nil, err
	}
	d.Name = ws[1].text
	if err := checkName("target", d.Name); err != nil {
		return nil, ws[1].errorf("%w", err)
	}
	seen := make(map[string]bool)
	for _, w := range ws[2:] {
		key, value, _ := strings.Cut(w.text, "=")
		if seen[key] {
			return nil, w.errorf("%s is given twice", key)
		}
		seen[key] = true
		if err := setField(d, key, value); err != nil {
			return nil, w.errorf("%w", err)
		}
	}
	if len(d.Spaces) == 0 {
		return nil, ws[1].errorf("target %s has no memory: write space=NAME", d.Name)
	}
	if field, err := d.contradiction(); err != nil {
		return nil, wordOf(ws, field).errorf("%s: %w", field, err)
	}
	return d, nil
}

// wordOf returns the word that sets a field, or the target's name where like= brought it.
func wordOf(ws []word, field string) word {
	for _, w := range ws[2:] {
		if strings.HasPrefix(w.text, field+"=") {
			return w
		}
	}
	return ws[1]
}

// base returns the descriptor that a line starts from.
func base(ws []word) (*Descriptor, error) {
	for _, w := range ws {
		name, ok := strings.CutPrefix(w.text, "like=")
		if !ok {
			continue
		}
		d := Builtin(name)
		if d == nil {
			return nil, w.errorf("like=%s: no such built-in target: there are %s", name, builtinNames())
		}
		return d, nil
	}
	return invented(), nil
}

// invented returns the descriptor of a target that says nothing about itself.
func invented() *Descriptor {
	return &Descriptor{Kind: "fake", Threads: 1, Hint: 1, Align: defaultAlign}
}

// Field is a field of the text form.
type Field struct {
	Name, Doc string
	set       func(d *Descriptor, value string) error
	get       func(d *Descriptor) string
}

// Fields returns the fields of the text form in the order in which they are printed.
func Fields() []Field { return fields }

var fields = []Field{
	{"like", "the built-in target whose fields are the defaults", func(*Descriptor, string) error { return nil }, func(d *Descriptor) string { return d.Like }},
	{"kind", "whose emitter serves it", func(d *Descriptor, v string) error { d.Kind = v; return nil }, func(d *Descriptor) string { return d.Kind }},
	{"space", "memory spaces that it addresses, the preferred one first", setSpaces, func(d *Descriptor) string { return strings.Join(d.Spaces, ",") }},
	{"ops", "what it runs: * or NAME or NAME(FORMAT,...), -NAME to leave out; under like=, a NAME is run as that target does", setOps, opsText},
	boolField("merge", "true: products of one operand become one product", func(d *Descriptor) *bool { return &d.MergeMatMul }),
	intField("segment", "positions that its attention_segments sums by themselves; 0: attention is not cut", func(d *Descriptor) *int { return &d.Segment }),
	boolField("workers", "true: nodes are shared by workers", func(d *Descriptor) *bool { return &d.Workers }),
	{"threads", "most workers, from 1 to 64", setThreads, func(d *Descriptor) string { return strconv.Itoa(d.Threads) }},
	intField("hint", "workers that the cost model reckons with", func(d *Descriptor) *int { return &d.Hint }),
	queuesField(),
	boolField("events", "true: records events and waits for those of others", func(d *Descriptor) *bool { return &d.Events }),
	alignField(),
	{"alignin", "bytes, for spaces where it is not align: SPACE:BYTES,...", setAligns, alignsText},
	sizeField("maxalloc", "bytes of the largest allocation, such as 1GiB", func(d *Descriptor) *int64 { return &d.MaxAlloc }),
	sizeField("memory", "bytes of its first space, such as 8GiB; 0 is no limit", func(d *Descriptor) *int64 { return &d.Memory }),
	extraField(),
	intField("maxinputs", "copied inputs of one split", func(d *Descriptor) *int { return &d.MaxInputs }),
	{"opaque", "spaces of it in which only its own kernels read", setOpaque, func(d *Descriptor) string { return strings.Join(d.Opaque, ",") }},
	{"offload", "ops that it takes though their weights lie with the last target: NAME or NAME@AXIS", setOffload, offloadText},
	intField("offloadrows", "rows of the result from which it takes them", func(d *Descriptor) *int { return &d.OffloadRows }),
	rateField("flops", "per second and worker", func(d *Descriptor) *float64 { return &d.Rates.FLOPs }),
	rateField("qops", "per second and worker, on quantized weights", func(d *Descriptor) *float64 { return &d.Rates.QuantOps }),
	rateField("bandwidth", "bytes per second of all workers", func(d *Descriptor) *float64 { return &d.Rates.Bandwidth }),
	rateField("workerbw", "bytes per second of one worker", func(d *Descriptor) *float64 { return &d.Rates.WorkerBW }),
	sizeField("cache", "bytes of weights that stay in a worker's cache from step to step", func(d *Descriptor) *int64 { return &d.Rates.Cache }),
	rateField("cachebw", "bytes per second that one worker reads from its cache", func(d *Descriptor) *float64 { return &d.Rates.CacheBW }),
	rateField("barrier", "seconds", func(d *Descriptor) *float64 { return &d.Rates.Barrier }),
	rateField("launch", "seconds to start a node", func(d *Descriptor) *float64 { return &d.Rates.Launch }),
	rateField("link", "bytes per second of copies into its first space", func(d *Descriptor) *float64 { return &d.Rates.Link }),
	rateField("linkout", "bytes per second of copies out of it; 0 is as link", func(d *Descriptor) *float64 { return &d.Rates.LinkOut }),
	rateField("linkdelay", "seconds of the smallest copy", func(d *Descriptor) *float64 { return &d.Rates.LinkDelay }),
	{"tiles", "tiles of matrix products that are not the default: FEATURE:WEIGHT:N:V,...", setTiles, tilesText},
	{"layouts", "measured seconds of an operand's layouts: OP:DTYPE:SHAPE:ROWS:LAYOUT:SECONDS,...", setLayoutTimes, layoutTimesText},
	{"measured", "where figures were measured: GOOS/GOARCH/KERNELS", setMeasured, func(d *Descriptor) string { return d.Measured }},
}

func setField(d *Descriptor, key, value string) error {
	for _, f := range fields {
		if f.Name != key {
			continue
		}
		if value == "" {
			return fmt.Errorf("%s has no value: write %s=VALUE (%s)", key, key, f.Doc)
		}
		if err := f.set(d, value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	}
	return fmt.Errorf("unknown field %q:%s ggmlc targets lists them", key, spell.Hint(key, fieldNames()))
}

func fieldNames() []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

func setSpaces(d *Descriptor, value string) (err error) {
	if d.Spaces, err = splitNames(value); err != nil {
		return err
	}
	for _, space := range d.Spaces {
		if err := checkName("memory space", space); err != nil {
			return err
		}
	}
	return nil
}

func setOpaque(d *Descriptor, value string) (err error) {
	d.Opaque, err = splitNames(value)
	return err
}

// setThreads bounds the workers: each has scratch of its own in the plan, and the proof
// looks at each.
func setThreads(d *Descriptor, value string) error {
	n, err := parseCount(value)
	if err != nil {
		return err
	}
	if n < 1 || n > maxThreads {
		return fmt.Errorf("%d is not a number of workers: write 1 to %d", n, maxThreads)
	}
	d.Threads = n
	return nil
}

// parseCount reads a whole number from 0 on.
func parseCount(value string) (int, error) {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number from 0 to %d", value, math.MaxInt32)
	}
	return int(n), nil
}

// splitNames splits a list of names at its commas.
func splitNames(value string) ([]string, error) {
	names := strings.Split(value, ",")
	if slices.Contains(names, "") {
		return nil, fmt.Errorf("%q holds an empty name", value)
	}
	return names, nil
}

// setTiles reads choices of tiles, one for each feature and dtype.
func setTiles(d *Descriptor, value string) error {
	d.Tiles = nil
	for _, text := range strings.Split(value, ",") {
		c, err := tile.ParseChoice(text)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(d.Tiles, func(o tile.Choice) bool { return o.Feature == c.Feature && o.Weight == c.Weight }) {
			return fmt.Errorf("%s: tiles of %s for %v are chosen twice", text, c.Feature, c.Weight)
		}
		d.Tiles = append(d.Tiles, c)
	}
	return nil
}

func tilesText(d *Descriptor) string {
	var names []string
	for _, c := range d.Tiles {
		names = append(names, c.String())
	}
	return strings.Join(names, ",")
}

func boolField(name, doc string, p func(*Descriptor) *bool) Field {
	return Field{name, doc,
		func(d *Descriptor, v string) (err error) {
			if *p(d), err = strconv.ParseBool(v); err != nil {
				return fmt.Errorf("%q: write true or false", v)
			}
			return nil
		},
		func(d *Descriptor) string { return strconv.FormatBool(*p(d)) }}
}

func queuesField() Field {
	f := intField("queues", "0: works while the host waits; 1: a queue; 2: another one for copies into it", func(d *Descriptor) *int { return &d.Queues })
	return f.checked(func(d *Descriptor) error {
		if d.Queues > 2 {
			return fmt.Errorf("%d queues: a target has 0, 1 or 2", d.Queues)
		}
		return nil
	})
}

func alignField() Field {
	f := sizeField("align", "bytes, a power of two; of every offset in its spaces", func(d *Descriptor) *int64 { return &d.Align })
	return f.checked(func(d *Descriptor) error { return checkAlign(d.Align) })
}

// maxExtra bounds what kernels may touch after a tensor: each has so much memory of its own.
const maxExtra = 16 << 20

func extraField() Field {
	f := sizeField("extra", "bytes that each tensor in its spaces needs after its own, at most 16MiB", func(d *Descriptor) *int64 { return &d.Extra })
	return f.checked(func(d *Descriptor) error {
		if d.Extra > maxExtra {
			return fmt.Errorf("%d: at most 16MiB: each tensor gets so much more", d.Extra)
		}
		return nil
	})
}

// checked refuses values that are set and do not hold.
func (f Field) checked(holds func(*Descriptor) error) Field {
	set := f.set
	f.set = func(d *Descriptor, v string) error {
		if err := set(d, v); err != nil {
			return err
		}
		return holds(d)
	}
	return f
}

func intField(name, doc string, p func(*Descriptor) *int) Field {
	return Field{name, doc,
		func(d *Descriptor, v string) (err error) {
			*p(d), err = parseCount(v)
			return err
		},
		func(d *Descriptor) string { return strconv.Itoa(*p(d)) }}
}

func sizeField(name, doc string, p func(*Descriptor) *int64) Field {
	return Field{name, doc,
		func(d *Descriptor, v string) (err error) {
			*p(d), err = ParseSize(v)
			return err
		},
		func(d *Descriptor) string { return strconv.FormatInt(*p(d), 10) }}
}

func rateField(name, doc string, p func(*Descriptor) *float64) Field {
	return Field{name, doc,
		func(d *Descriptor, v string) error {
			x, err := strconv.ParseFloat(v, 64)
			if err != nil || !(x >= 0) || math.IsInf(x, 0) {
				return fmt.Errorf("%s is not a rate: write a number such as 1e9, or leave it out where it is not known", v)
			}
			*p(d) = x
			return nil
		},
		func(d *Descriptor) string { return strconv.FormatFloat(*p(d), 'g', -1, 64) }}
}

// String returns the target as ParseDescriptor reads it: its name, and the fields that
// differ from those it starts from.
func (d *Descriptor) String() string {
	from := invented()
	if d.Like != "" {
		from = Builtin(d.Like)
	}
	var b strings.Builder
	b.WriteString(d.Name)
	for _, f := range fields {
		if v := f.get(d); v != f.get(from) || f.Name == "like" && v != "" {
			fmt.Fprintf(&b, " %s=%s", f.Name, v)
		}
	}
	return b.String()
}

// ParseSize reads a number of bytes: digits, then nothing, KiB, MiB, GiB or TiB (powers of
// 1024), or kB, MB, GB, TB (powers of 1000). A fraction is allowed where the result is
// rounded down to whole bytes, of which there is one at least.
func ParseSize(text string) (int64, error) {
	i := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	unit := ""
	digits := text
	if i >= 0 {
		digits, unit = text[:i], text[i:]
	}
	scale, ok := sizeUnits[unit]
	x, err := strconv.ParseFloat(digits, 64)
	if err != nil || !ok || x*scale >= 1<<62 || x > 0 && x*scale < 1 {
		return 0, fmt.Errorf("%q is not a size: write a number and a unit, such as 512MiB or 8GB", text)
	}
	return int64(x * scale), nil
}

var sizeUnits = map[string]float64{
	"": 1, "B": 1,
	"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
}

// computes reports whether an op is one that targets list.
func computes(op ir.Op) bool { return op.Info().Traits&(ir.Leaf|ir.View) == 0 }
