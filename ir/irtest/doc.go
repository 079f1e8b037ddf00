// Package irtest has helpers for the tests of several packages: random modules, modules of the ops'
// sample cases, comparison within tolerances, and golden files.
package irtest
