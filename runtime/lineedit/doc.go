// Package lineedit reads lines from a terminal that the user edits: cursor keys, history, several lines pasted at once,
// wide characters. It needs no cgo and no other module, since emitted programs are built without a network.
//
// [Terminal] switches a terminal to single keys while it reads a line. The other types know nothing of terminals:
// decoder turns bytes into keys, buffer is the text that they edit, and screen draws it.
package lineedit
