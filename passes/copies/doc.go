// Package copies holds the passes split, copy and elide-copy. Split cuts the order of nodes into runs on one backend.
// Copy copies values into the memory spaces in which backends read them. Elide-copy removes needless copies.
package copies
