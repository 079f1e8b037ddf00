// Package irtest has helpers for the tests of several packages: random modules, small models, golden files, and package
// opcase under short names.
package irtest
