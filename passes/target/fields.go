package target

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir/spell"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// Field is a field of the text form of targets.
type Field struct {
	Name string
	Doc  string // what the field means, with its unit; ggmlc targets prints it
	set  func(d *Descriptor, value string) error
	get  func(d *Descriptor) string // returns the value that set reads
}

// Fields returns the fields of the text form in the order in which they are printed.
func Fields() []Field { return fields }

var fields = []Field{
	{"like", "built-in target whose fields are the defaults",
		func(*Descriptor, string) error { return nil }, // base has read it
		func(d *Descriptor) string { return d.Like }},
	{"kind", "backend that code is emitted for: cpu, cpugroup, fake, cuda, gpusim, vulkan, or one of another module; any other word makes a target for plans only",
		func(d *Descriptor, v string) error { d.Kind = v; return nil },
		func(d *Descriptor) string { return d.Kind }},
	{"space", "memory spaces that it reads and writes; its results go to the first",
		setSpaces, func(d *Descriptor) string { return strings.Join(d.Spaces, ",") }},
	{"ops", "ops that it runs: * or NAME or NAME(FORMAT,...), -NAME to leave one out; with like=, as that target does",
		setOps, opsText},
	boolField("merge", "true: products that read the same operand become one product",
		func(d *Descriptor) *bool { return &d.MergeMatMul }),
	intField("segment", "positions in one segment of attention_segments; 0: attention is not cut",
		func(d *Descriptor) *int { return &d.Segment }),
	{"mma", "products of many rows on a GPU of NVIDIA: sync, or wgmma where its compute capability is 9.0",
		setMMA, func(d *Descriptor) string { return d.MMA }},
	boolField("workers", "true: threads share each node",
		func(d *Descriptor) *bool { return &d.Workers }),
	{"cores", "cores that its threads run on, one on each, such as 0-7 or 0-3+8-11; sets threads and hint",
		setCores, CoresText},
	{"threads", "largest number of threads, from 1 to 64",
		setThreads, func(d *Descriptor) string { return strconv.Itoa(d.Threads) }},
	intField("hint", "number of threads that predictions assume",
		func(d *Descriptor) *int { return &d.Hint }),
	queuesField(),
	boolField("concurrent", "true: nodes of a queue that do not need each other run at the same time; false: one after the other",
		func(d *Descriptor) *bool { return &d.Concurrent }),
	boolField("events", "true: queues wait for events of other queues; false: the host waits until a queue is empty",
		func(d *Descriptor) *bool { return &d.Events }),
	boolField("staged", "true: copies between it and other devices go by way of the processor's memory",
		func(d *Descriptor) *bool { return &d.Staged }),
	alignField(),
	{"alignin", "alignment in spaces where it is not align, in bytes: SPACE:BYTES,...", setAligns, alignsText},
	sizeField("maxalloc", "largest allocation, in bytes, such as 1GiB; 0 is no limit",
		func(d *Descriptor) *int64 { return &d.MaxAlloc }),
	sizeField("memory", "size of its first space, in bytes, such as 8GiB; 0 is no limit",
		func(d *Descriptor) *int64 { return &d.Memory }),
	extraField(),
	intField("maxinputs", "largest number of copied inputs of a split; 0 is no limit",
		func(d *Descriptor) *int { return &d.MaxInputs }),
	{"opaque", "those of its spaces in which only its own kernels can read",
		setOpaque, func(d *Descriptor) string { return strings.Join(d.Opaque, ",") }},
	{"offload", "ops that it takes from the last target, where their weights are: NAME or NAME@AXIS; only for ggml's rules",
		setOffload, offloadText},
	intField("offloadrows", "smallest number of rows of the result for offload",
		func(d *Descriptor) *int { return &d.OffloadRows }),
	rateField("flops", "operations per second on float weights, of one thread or of a device; a multiply-add is two",
		func(d *Descriptor) *float64 { return &d.Rates.FLOPs }),
	rateField("qops", "operations per second on quantized weights, likewise; 0 is as flops",
		func(d *Descriptor) *float64 { return &d.Rates.QuantOps }),
	rateField("bandwidth", "bytes per second that all threads together, or the device, read from memory",
		func(d *Descriptor) *float64 { return &d.Rates.Bandwidth }),
	rateField("workerbw", "bytes per second that one thread reads from memory",
		func(d *Descriptor) *float64 { return &d.Rates.WorkerBW }),
	sizeField("cache", "bytes of weights that stay in the cache of one thread from step to step",
		func(d *Descriptor) *int64 { return &d.Rates.Cache }),
	rateField("cachebw", "bytes per second that one thread reads from its cache",
		func(d *Descriptor) *float64 { return &d.Rates.CacheBW }),
	rateField("barrier", "seconds that one barrier takes",
		func(d *Descriptor) *float64 { return &d.Rates.Barrier }),
	rateField("launch", "seconds that starting one node takes",
		func(d *Descriptor) *float64 { return &d.Rates.Launch }),
	rateField("link", "bytes per second of copies into its first space",
		func(d *Descriptor) *float64 { return &d.Rates.Link }),
	rateField("linkout", "bytes per second of copies out of its first space; 0 is as link",
		func(d *Descriptor) *float64 { return &d.Rates.LinkOut }),
	rateField("linkdelay", "seconds that the smallest copy takes, in either direction",
		func(d *Descriptor) *float64 { return &d.Rates.LinkDelay }),
	{"tiles", "tiles of matrix products where they are not the default: FEATURE:WEIGHT:N:V,...", setTiles, tilesText},
	{"layouts", "measured seconds of reading an operand in a layout: OP:DTYPE:SHAPE:ROWS:LAYOUT:SECONDS,...",
		setLayoutTimes, layoutTimesText},
	{"measured", "machine on which figures were measured: GOOS/GOARCH/KERNELS",
		setMeasured, func(d *Descriptor) string { return d.Measured }},
}

// setField sets the field with name key to a value.
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

// setSpaces reads a list of names of spaces.
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

// setOpaque reads a list of names of spaces; contradiction checks that they are spaces of the target.
func setOpaque(d *Descriptor, value string) (err error) {
	d.Opaque, err = splitNames(value)
	return err
}

// setMMA reads how a GPU of NVIDIA multiplies.
func setMMA(d *Descriptor, value string) error {
	if value != MMASync && value != MMAWgmma {
		return fmt.Errorf("%q: write %s or %s", value, MMASync, MMAWgmma)
	}
	d.MMA = value
	return nil
}

// setThreads reads the largest number of workers. It is bounded because the plan has scratch memory for each worker,
// and the proof covers each number of workers.
func setThreads(d *Descriptor, value string) error {
	n, err := parseCount(value)
	if err != nil {
		return err
	}
	if n < 1 || n > maxThreads {
		return fmt.Errorf("%d is not a number of threads: write 1 to %d", n, maxThreads)
	}
	d.Threads = n
	return nil
}

// parseCount reads a whole number that is not negative.
func parseCount(value string) (int, error) {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number from 0 to %d", value, math.MaxInt32)
	}
	return int(n), nil
}

// splitNames splits a list of names at commas.
func splitNames(value string) ([]string, error) {
	names := strings.Split(value, ",")
	if slices.Contains(names, "") {
		return nil, fmt.Errorf("%q holds an empty name", value)
	}
	return names, nil
}

// setTiles reads choices of tiles, at most one for each pair of a CPU feature and a dtype of weights.
func setTiles(d *Descriptor, value string) error {
	d.Tiles = nil
	for _, text := range strings.Split(value, ",") {
		c, err := tile.ParseChoice(text)
		if err != nil {
			return err
		}
		same := func(o tile.Choice) bool { return o.Feature == c.Feature && o.Weight == c.Weight }
		if slices.ContainsFunc(d.Tiles, same) {
			return fmt.Errorf("%s: tiles of %s for %v are chosen twice", text, c.Feature, c.Weight)
		}
		d.Tiles = append(d.Tiles, c)
	}
	return nil
}

// tilesText returns the text that setTiles reads.
func tilesText(d *Descriptor) string {
	var names []string
	for _, c := range d.Tiles {
		names = append(names, c.String())
	}
	return strings.Join(names, ",")
}

// boolField returns the field whose value p points to.
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
	f := intField("queues", "0: the host waits for each node; 1: nodes run on a queue; 2: copies into it run on another one",
		func(d *Descriptor) *int { return &d.Queues })
	return f.checked(func(d *Descriptor) error {
		if d.Queues > 2 {
			return fmt.Errorf("%d queues: a target has 0, 1 or 2", d.Queues)
		}
		return nil
	})
}

func alignField() Field {
	f := sizeField("align", "alignment of all offsets in its spaces, in bytes; a power of two",
		func(d *Descriptor) *int64 { return &d.Align })
	return f.checked(func(d *Descriptor) error { return checkAlign(d.Align) })
}

// maxExtra bounds the bytes after a tensor that kernels may touch, because every tensor in a plan gets that many more.
const maxExtra = 16 << 20

func extraField() Field {
	f := sizeField("extra", "bytes after each tensor in its spaces that its kernels may touch, at most 16MiB",
		func(d *Descriptor) *int64 { return &d.Extra })
	return f.checked(func(d *Descriptor) error {
		if d.Extra > maxExtra {
			return fmt.Errorf("%d: at most 16MiB: each tensor gets so much more", d.Extra)
		}
		return nil
	})
}

// checked returns the field with a check of the descriptor after the value is set.
func (f Field) checked(check func(*Descriptor) error) Field {
	set := f.set
	f.set = func(d *Descriptor, v string) error {
		if err := set(d, v); err != nil {
			return err
		}
		return check(d)
	}
	return f
}

// intField returns the field whose value p points to.
func intField(name, doc string, p func(*Descriptor) *int) Field {
	return Field{name, doc,
		func(d *Descriptor, v string) (err error) {
			*p(d), err = parseCount(v)
			return err
		},
		func(d *Descriptor) string { return strconv.Itoa(*p(d)) }}
}

// sizeField returns the field whose value p points to, a number of bytes.
func sizeField(name, doc string, p func(*Descriptor) *int64) Field {
	return Field{name, doc,
		func(d *Descriptor, v string) (err error) {
			*p(d), err = ParseSize(v)
			return err
		},
		func(d *Descriptor) string { return strconv.FormatInt(*p(d), 10) }}
}

// rateField returns the field whose value p points to, a finite number that is not negative.
func rateField(name, doc string, p func(*Descriptor) *float64) Field {
	return Field{name, doc,
		func(d *Descriptor, v string) error {
			x, err := strconv.ParseFloat(v, 64)
			if err != nil || !(x >= 0) || math.IsInf(x, 0) {
				return fmt.Errorf("%s is not a rate: write a number such as 1e9, or leave it out if it is not known", v)
			}
			*p(d) = x
			return nil
		},
		func(d *Descriptor) string { return strconv.FormatFloat(*p(d), 'g', -1, 64) }}
}
