package ir

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
)

// Hash returns the SHA-256, in hexadecimal, of all that the text form of m shows: modules
// that Equal calls equal have the same, in every run.
func Hash(m *Module) string {
	sum := sha256.Sum256([]byte(m.String()))
	return hex.EncodeToString(sum[:])
}

var nodeSeed = maphash.MakeSeed()

// HashNode returns a hash of what a node computes: op, attributes and operands, but not
// names, position or decisions of passes. Nodes of a function that SameNode calls the
// same have equal hashes, in one run of the program.
func HashNode(n *Node) uint64 {
	var h maphash.Hash
	h.SetSeed(nodeSeed)
	h.WriteByte(byte(n.Op))
	h.WriteString(attrText(n))
	for _, a := range n.Args {
		id := -1
		if a != nil {
			id = a.ID
		}
		maphash.WriteComparable(&h, id)
	}
	return h.Sum64()
}

// SameNode reports whether two nodes of a function compute the same: same op, attributes,
// operands and result types. Nodes with bodies never do.
func SameNode(a, b *Node) bool {
	if a.Op != b.Op || a.Body != nil || b.Body != nil || !EqualAttr(a.Op, a.Attr, b.Attr) ||
		len(a.Args) != len(b.Args) || len(a.Results) != len(b.Results) {
		return false
	}
	for i := range a.Args {
		if a.Args[i] != b.Args[i] {
			return false
		}
	}
	for i := range a.Results {
		if !a.Results[i].Type.Equal(b.Results[i].Type) {
			return false
		}
	}
	return true
}
