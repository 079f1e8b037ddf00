package readback

import (
	"bytes"
	"regexp"
	"strconv"
)

// What a module of PTX begins with (PTX ISA, 11.1): the version of the language, the architecture, the size of
// addresses.
var (
	ptxHead  = regexp.MustCompile(`^\.version [6-9]\.\d\n\.target sm_(\d+)a?\n\.address_size 64\n`)
	ptxEntry = regexp.MustCompile(`^\s*\.visible \.entry ([A-Za-z]\w*)\(\s*\.param \.u64 [\w$]+\s*\)\s*\.reqntid (\d+), 1, 1\s*\{`)
)

// ptxVersion is what a module begins with. Nothing else in it does.
const ptxVersion = ".version "

// threadsOfPTX returns the threads of a workgroup of PTX. It is modules for several architectures, older ones first,
// each with its directives and one kernel with one parameter; the first module's threads count. It returns 0 for other
// data.
func threadsOfPTX(data []byte) (threads int64) {
	before := -1
	for len(data) > 0 {
		end := len(data)
		if next := bytes.Index(data[1:], []byte(ptxVersion)); next >= 0 {
			end = next + 1
		}
		n, sm := moduleOfPTX(data[:end])
		if n < 1 || n > maxThreads || sm <= before {
			return 0
		}
		if before < 0 {
			threads = n
		}
		before, data = sm, data[end:]
	}
	return threads
}

// maxThreads is the largest number of threads of a workgroup on any device.
const maxThreads = 1024

// moduleOfPTX returns the threads of a module and the number of its architecture, or 0 threads.
func moduleOfPTX(data []byte) (threads int64, sm int) {
	head := ptxHead.FindSubmatch(data)
	if head == nil {
		return 0, 0
	}
	entry := ptxEntry.FindSubmatch(data[len(head[0]):])
	if entry == nil || !endsBlock(data[len(head[0])+len(entry[0]):]) {
		return 0, 0
	}
	sm, _ = strconv.Atoi(string(head[1]))
	threads, _ = strconv.ParseInt(string(entry[2]), 10, 32)
	return threads, sm
}

// endsBlock reports whether the first brace that has no opening one ends the text.
func endsBlock(body []byte) bool {
	depth := 1
	for i, c := range body {
		switch c {
		case '{':
			depth++
		case '}':
			depth--
		case 0, '"':
			return false // text without strings and comments, so braces are braces
		}
		if depth == 0 {
			return !bytes.Contains(body, []byte("//")) && string(body[i:]) == "}\n"
		}
	}
	return false
}
