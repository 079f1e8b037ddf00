package main

import "strings"

// perLine is how many instructions are written to a line. Go's linker keeps a table of lines, in which each costs two or three
// bytes: with one instruction to a line, a program from aidreams260K.gguf has 229 KB more.
const perLine = 8

// joinLines writes instructions that follow each other to one line. Those with arguments stay alone, as go vet looks for them at
// the beginning of lines.
func joinLines(text string) string {
	var b strings.Builder
	n := 0 // instructions in the last line
	for line := range strings.Lines(text) {
		instruction := strings.HasPrefix(line, "\t") && !strings.Contains(line, "(FP)") && !strings.Contains(line, "//")
		switch {
		case !instruction:
			n = 0
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(strings.TrimSuffix(line, "\n"))
			continue
		case n == perLine:
			n = 0
		}
		if n == 0 {
			b.WriteString("\n\t")
		} else {
			b.WriteString("; ")
		}
		b.WriteString(strings.Join(strings.Fields(line), " "))
		n++
	}
	b.WriteByte('\n')
	return b.String()
}
