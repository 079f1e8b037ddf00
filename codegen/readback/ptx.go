package readback

import (
	"bytes"
	"regexp"
	"strconv"
)

// What a module of PTX begins with (PTX ISA, 11.1): the version of the language, the architecture, the size of addresses.
var (
	ptxHead  = regexp.MustCompile(`^\.version [6-9]\.\d\n\.target sm_\d+a?\n\.address_size 64\n`)
	ptxEntry = regexp.MustCompile(`^\s*\.visible \.entry ([A-Za-z]\w*)\(\s*\.param \.u64 [\w$]+\s*\)\s*\.reqntid (\d+), 1, 1\s*\{`)
)

// threadsOfPTX returns the threads of a workgroup of a module of PTX: its directives, then one kernel with one parameter. It
// returns 0 for other data.
func threadsOfPTX(data []byte) int64 {
	head := ptxHead.Find(data)
	entry := ptxEntry.FindSubmatch(data[len(head):])
	if head == nil || entry == nil || !endsBlock(data[len(head)+len(entry[0]):]) {
		return 0
	}
	threads, err := strconv.ParseInt(string(entry[2]), 10, 32)
	if err != nil {
		return 0
	}
	return threads
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
