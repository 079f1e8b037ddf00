// Package simplify holds the passes that change which nodes there are, whatever runs them: shape, inline, fold,
// cse, dce, canonicalize, fuse, fuse-late and unfuse.
package simplify
