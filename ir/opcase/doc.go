// Package opcase makes calls of ops from their sample cases, and compares results within the tolerances of ops.
package opcase
