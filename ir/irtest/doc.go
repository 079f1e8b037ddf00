// Package irtest holds what tests of several packages share: random modules, modules of
// the ops' sample cases, comparison within tolerances, and golden files.
package irtest
