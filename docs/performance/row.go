package main

import (
	"cmp"
	"fmt"
	"strconv"
)

// A row is a model compiled in one way, and what is measured of it.
type row struct {
	name  string   // in the page and in the file of results
	file  string   // in the folder of models; "" is the small model
	flags []string // of ggmlc build

	threads  int // 0: those of the command line
	prompts  []int
	generate int
	repeats  int // within a process, of which the median counts

	// long compares a prompt of longPrompt tokens with one of usualPrompt, and generation after deep
	// positions with that after shallow ones; the prompt of peers as well,
	// where peersLong is set, in one round, as theirs take a minute.
	long, peersLong bool

	disturbed bool // also measure beside a process that never leaves the first processor

	start   bool   // also measure from the process's start to the first token
	profile bool   // also where the time goes
	peersOf string // a row whose peers' figures count here too, as they have no such mode: it takes its turns beside that row
	alone   bool   // peers are not asked
	cpu     string // avx2 or avxvnni: the peer is the one that was built for that alone, as the row's program is
	results string // the file of results; "" is the main one

	sequences int // above 0, only so many that generate together are measured, beside a single one

	bytesPerWeight float64 // of the format, scales included; 0 leaves the row out of the roofline
}

const (
	longPrompt  = 4096
	usualPrompt = 512 // which the long one is compared with, and disturbed prompts
	shallow     = 16
	deep        = 4000
	deepTokens  = 32
	deepRepeats = 3
)

// rows are the table of the page. The F16 file is also compiled with leave to round to BF16,
// as ik_llama.cpp does when it repacks.
var rows = []row{
	{name: "Q4_0", file: "r1b-Q4_0.gguf", prompts: []int{128, 512}, generate: 64, repeats: 1, long: true, peersLong: true, disturbed: true, start: true, profile: true, bytesPerWeight: 18. / 32},
	{name: "Q4_0, cache in q8_0", file: "r1b-Q4_0.gguf", flags: []string{"--kv", "q8_0"}, prompts: []int{512}, generate: 64, repeats: 1, long: true, alone: true},
	{name: "Q8_0", file: "r1b-Q8_0.gguf", prompts: []int{128, 512}, generate: 64, repeats: 1, long: true, profile: true, bytesPerWeight: 34. / 32},
	{name: "F16", file: "r1b-f16.gguf", prompts: []int{128, 512}, generate: 64, repeats: 1, long: true, start: true, profile: true, bytesPerWeight: 2},
	{name: "F16 as BF16", file: "r1b-f16.gguf", flags: []string{"--allow-bf16"}, prompts: []int{128, 512}, generate: 64, repeats: 1, peersOf: "F16", bytesPerWeight: 2},
	{name: "BF16", file: "r1b-bf16.gguf", prompts: []int{128, 512}, generate: 64, repeats: 1, bytesPerWeight: 2},
	blocks("Q4_K_M"), blocks("Q5_K_M"), blocks("Q6_K"), blocks("IQ4_XS"), blocks("MXFP4"),
	onAVX2("Q4_0"), onAVX2("Q8_0"), onAVX2("Q4_K_M"), onAVX2("Q5_K_M"), onAVX2("Q6_K"), onAVX2("IQ4_XS"), onAVX2("MXFP4"),
	onAVXVNNI("Q4_0"), onAVXVNNI("Q8_0"), onAVXVNNI("Q4_K_M"), onAVXVNNI("IQ4_XS"),
	together("Q4_0", ""), together("Q8_0", ""), together("Q4_K_M", ""),
	together("Q4_0", "avx2"), together("Q8_0", "avx2"), together("Q4_K_M", "avx2"),
	together("Q4_0", "avxvnni"), together("Q8_0", "avxvnni"), together("Q4_K_M", "avxvnni"),
	{name: "aidreams260K, 1 thread", threads: 1, prompts: []int{128}, generate: 64, repeats: 9},
	{name: "aidreams260K, 2 threads", threads: 2, prompts: []int{128}, generate: 64, repeats: 9},
}

// blockResults is the file of results of block formats, AVX2 and sequences.
const blockResults = "results_blocks.json"

// blocks is the row of a file in a mixture of block formats, named as llama-quantize names it.
func blocks(format string) row {
	return row{name: format, file: "r1b-" + format + ".gguf", results: blockResults, prompts: []int{128, 512}, generate: 64, repeats: 1}
}

// onAVX2 is the row of a file on a processor without AVX-512.
func onAVX2(format string) row { return blocks(format).on("avx2") }

// onAVXVNNI is the row of a file on such a processor with AVX-VNNI.
func onAVXVNNI(format string) row { return blocks(format).on("avxvnni") }

// on returns the row for programs that are limited to an implementation.
func (w row) on(cpu string) row {
	w.name += map[string]string{"avx2": ", AVX2", "avxvnni": ", AVX-VNNI"}[cpu]
	w.cpu, w.flags = cpu, append(w.flags, "--cpu", cpu)
	return w
}

// together is the row of a file whose sequences generate together, on an implementation if one is named.
func together(format, cpu string) row {
	w := blocks(format)
	w.alone, w.prompts, w.sequences = true, nil, 8
	w.flags = []string{"--sequences", strconv.Itoa(w.sequences), "--ctx", "1024"}
	if cpu != "" {
		w = w.on(cpu)
	}
	w.name += ", sequences"
	return w
}

// fileOfResults is the name of the file of results that the row belongs to.
func (w *row) fileOfResults() string { return cmp.Or(w.results, mainResults) }

func rowNamed(name string) *row {
	for i := range rows {
		if rows[i].name == name {
			return &rows[i]
		}
	}
	return nil
}

// The figures of a run, by the names that results.json has.
const (
	figPeak  = "peak_gop_s"    // of the arithmetic that the row's products use
	figRead  = "read_gb_s"     // from memory
	figOther = "other_cpu"     // share of all processors that others used, at most, during the run
	figStart = "start_ms"      // to the first token, less the prompt at its usual rate
	figFirst = "first_ms"      // to the first token of a prompt of the row's first length
	figNodes = "graph_nodes"   // of a peer's graph: it has a barrier after each
	figSteps = "step_barriers" // of one token of ours
)

// Names of figures, those of llama-bench.
func prompt(tokens int) string     { return fmt.Sprintf("pp%d", tokens) }
func generated(tokens int) string  { return fmt.Sprintf("tg%d", tokens) }
func atDepth(positions int) string { return fmt.Sprintf("tg at %d", positions) }

// atOnce names the rate of sequences that generate together.
func atOnce(sequences int) string { return fmt.Sprintf("tg of %d", sequences) }

// disturbed names a figure that was measured beside a busy process.
func disturbed(figure string) string { return figure + " beside a busy process" }

// shareOf names the share of the machine's limit that a figure reaches.
func shareOf(figure string) string { return figure + " share" }

// ratioOf names the ratio of two figures that took short turns.
func ratioOf(figure, to string) string { return figure + " of " + to }

// goal compares a figure of ours with something of the same round.
type goal struct {
	rows    []string
	figure  string // of generate and prompts: "tg64", "pp128"
	against string // a peer; "better" of both; "limit"; or another figure of the row; "" is a bound in itself
	least   float64
	most    float64 // used where least is 0
}

var (
	blockRows    = []string{"Q4_K_M", "Q5_K_M", "Q6_K", "IQ4_XS", "MXFP4"}
	narrowRows   = []string{"Q4_0, AVX2", "Q8_0, AVX2", "Q4_K_M, AVX2", "Q4_0, AVX-VNNI", "Q8_0, AVX-VNNI", "Q4_K_M, AVX-VNNI"}
	sequenceRows = []string{"Q4_0, sequences", "Q8_0, sequences", "Q4_K_M, sequences", "Q4_0, AVX2, sequences", "Q8_0, AVX2, sequences", "Q4_K_M, AVX2, sequences",
		"Q4_0, AVX-VNNI, sequences", "Q8_0, AVX-VNNI, sequences", "Q4_K_M, AVX-VNNI, sequences"}
)

// goals are the table of issue 5, then that of issue 20.
var goals = []goal{
	{[]string{"Q4_0", "Q8_0"}, "tg64", ik, 1, 0},
	{[]string{"Q4_0", "Q8_0"}, "tg64", limit, 0.92, 0},
	{[]string{"Q4_0", "Q8_0"}, "pp128", ik, 1.5, 0},
	{[]string{"Q4_0", "Q8_0"}, "pp512", ik, 1.5, 0},
	{[]string{"F16", "F16 as BF16", "BF16"}, "tg64", better, 1, 0},
	{[]string{"F16", "F16 as BF16", "BF16"}, "tg64", limit, 0.95, 0},
	{[]string{"F16"}, "pp128", llama, 1.2, 0},
	{[]string{"F16"}, "pp512", llama, 1.2, 0},
	{[]string{"F16 as BF16", "BF16"}, "pp128", ik, 1.1, 0},
	{[]string{"F16 as BF16", "BF16"}, "pp512", ik, 1.1, 0},
	{[]string{"Q4_0", "Q4_0, cache in q8_0", "Q8_0", "F16"}, "tg at 4000", "tg at 16", 0.85, 0},
	{[]string{"Q4_0", "Q4_0, cache in q8_0", "Q8_0", "F16"}, "pp4096", "pp512", 0.75, 0},
	{[]string{"Q4_0"}, disturbed("tg64"), "tg64", 0.5, 0},
	{[]string{"Q4_0"}, disturbed("pp512"), "pp512", 0.5, 0},
	{[]string{"aidreams260K, 1 thread", "aidreams260K, 2 threads"}, "tg64", better, 2, 0},
	{[]string{"aidreams260K, 1 thread", "aidreams260K, 2 threads"}, "pp128", better, 1, 0},
	{[]string{"Q4_0", "F16"}, figStart, "", 0, 50},
	{blockRows, "tg64", ik, 1, 0},
	{blockRows, "tg64", limit, 0.92, 0},
	{blockRows, "pp128", ik, 1.5, 0},
	{blockRows, "pp512", ik, 1.5, 0},
	{narrowRows, "tg64", ik, 1, 0},
	{narrowRows, "pp128", ik, 1.4, 0},
	{narrowRows, "pp512", ik, 1.4, 0},
	{sequenceRows, atOnce(8), atOnce(1), 4, 0},
}

// Who runs, and what else figures are compared with.
const (
	ours   = "ggmlc"
	ik     = "ik_llama.cpp"
	llama  = "llama.cpp"
	better = "better"
	limit  = "limit"
)
