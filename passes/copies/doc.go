// Package copies holds the passes split, copy and elide-copy: they cut the order of nodes into runs on one
// backend, copy what crosses memory spaces, and remove the copies that something else makes needless.
package copies
