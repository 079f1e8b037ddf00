package ir

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/maphash"
)

// Hash returns the SHA-256 of the text form of m in hexadecimal. Modules that Equal reports as equal
// have the same hash in every run.
func Hash(m *Module) string {
	sum := sha256.Sum256([]byte(m.String()))
	return hex.EncodeToString(sum[:])
}

var nodeSeed = maphash.MakeSeed()

// HashNode returns a hash of the op, attributes and operands of a node, without names, position and
// decisions of passes. Nodes of a function for which SameNode is true have equal hashes within one run
// of the program.
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

// SameNode reports whether two nodes of a function compute the same: they have the same op, attributes,
// operands and result types, and no body.
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
