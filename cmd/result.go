package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// jsonResult is the object that build and gen print last under --json.
type jsonResult struct {
	Path         string       `json:"path"`
	Bytes        int64        `json:"bytes"`
	WeightsFile  string       `json:"weights_file,omitempty"`
	WeightsBytes int64        `json:"weights_bytes,omitempty"` // of that file
	Memory       []jsonMemory `json:"memory"`
	Seconds      float64      `json:"seconds"`
	PlanID       string       `json:"plan_id"`
}

// jsonMemory is the need of one memory space.
type jsonMemory struct {
	driver.SpaceBytes
	Bytes int64 `json:"bytes"` // the sum
}

// finish reports what was written: as a line on w where progress is shown, or as an object on out under --json.
func (p *progress) finish(out io.Writer, form outputForm, r driver.Result, took time.Duration) error {
	p.done()
	if form == asJSON {
		return writeResult(out, r, took)
	}
	if p.w != nil {
		fmt.Fprintln(p.w, printable.Line(resultText(r, took)))
	}
	return nil
}

// finishCached is finish for run, whose output is that of the program.
func (p *progress) finishCached(r driver.Result, took time.Duration) {
	p.done()
	if p.w != nil {
		fmt.Fprintf(p.w, "compiled in %.1f s; needs %s\n", took.Seconds(), memoryText(r.Memory))
	}
}

// writeResult prints the object.
func writeResult(w io.Writer, r driver.Result, took time.Duration) error {
	j := jsonResult{Path: r.Path, Bytes: r.Bytes, WeightsFile: r.WeightsFile, WeightsBytes: r.WeightsBytes,
		Memory: []jsonMemory{}, Seconds: took.Seconds(), PlanID: r.PlanID}
	for _, s := range r.Memory {
		j.Memory = append(j.Memory, jsonMemory{s, s.Total()})
	}
	line, err := json.Marshal(map[string]jsonResult{"result": j})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", printable.JSON(line))
	return err
}

// resultText returns the closing line: path, size, time and memory. It fits on a terminal of 80 columns.
func resultText(r driver.Result, took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", r.Path, ir.BytesText(r.Bytes))
	if r.WeightsFile != "" {
		fmt.Fprintf(&b, " and %s in %s", ir.BytesText(r.WeightsBytes), r.WeightsFile)
	}
	fmt.Fprintf(&b, " in %.1f s; needs %s", took.Seconds(), memoryText(r.Memory))
	return b.String()
}

// memoryText returns the needs of all spaces. That of a single one is divided into its parts.
func memoryText(spaces []driver.SpaceBytes) string {
	if len(spaces) == 0 {
		return "no memory"
	}
	if len(spaces) == 1 {
		s := spaces[0]
		bytes, name := ir.ByteUnit(s.Total())
		return fmt.Sprintf("%s %s (weights %s, state %s, arenas %s)", ir.InByteUnit(s.Total(), bytes), name,
			ir.InByteUnit(s.Weights, bytes), ir.InByteUnit(s.State, bytes), ir.InByteUnit(s.Arenas, bytes))
	}
	var parts []string
	for _, s := range spaces {
		parts = append(parts, fmt.Sprintf("%s in %s", ir.BytesText(s.Total()), s.Space))
	}
	return strings.Join(parts, ", ")
}
