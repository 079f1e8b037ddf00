// Package grammar limits generated text to that of a context-free grammar in GBNF, llama.cpp's notation
// (llama.cpp/grammars/README.md).
//
// A grammar is compiled to a program for a pushdown automaton over bytes, so that a token may end within a character.
// The instructions are those of a regular expression's automaton, and calls of rules:
//
//	root ::= "a" root "b" | "c"
//
//	0  split 1, 4
//	1  byte a
//	2  call root        pushes 3, where it continues
//	3  byte b, return
//	4  byte c, return
//
// A state of the automaton is a set of threads, each an instruction that reads a byte, with a stack of return
// addresses. After "aa" the threads are those of 1 and 4, with the stack 3 3. Equal stacks and equal states have one
// number, so each transition is computed once. A call whose next instruction is return pushes nothing: right recursion
// needs no stack.
//
// The tokens that a state allows are found in one walk through the vocabulary in the order of its texts. Tokens that
// begin with the same bytes share the transitions of these bytes, and none is tried after bytes that the state does not
// allow. The result is kept with the state.
//
// A grammar that is known when a program is compiled can have a table (table.go): all states that the vocabulary's
// tokens lead to, with their masks. One that names tokens (token.go) has none.
//
// Alternatives: llama.cpp keeps stacks of grammar elements and tries each token by itself, at each step. Tables of all
// states are possible for regular grammars only; a state here is computed when it is first reached.
package grammar
