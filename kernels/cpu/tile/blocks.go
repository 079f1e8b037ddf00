package tile

import "github.com/ggmlc/ggmlc/ir/dtype"

// The bytes of a block of a panel for a format with a scheme (dtype.Scheme), of 16 rows and 32 or 256 k:
//
//	16 halves  D, one per row
//	16 halves  M, where the format has mins
//	parts      one for each 32 k
//
// and those of a part:
//
//	planes     the lowest bits of the elements first; one of b bits is b vectors of 64 bytes
//	bytes      integer scales: for each group of k 16, one per row; only in blocks of 256 k
//	bytes      integer mins, likewise
//
// A part has 8 words of 4 bytes per row when its elements are bytes: word j is k = 4j to 4j+3. In a plane of b bits,
// word j of row r is at word r of vector j%b, in the bits from b·(j/b) on of each byte. Planes of 4 bits are those
// of q4_0. No value is rounded: Unpack restores all bits of the plain blocks.

// words is the words of a row in a part.
const words = 8

// packSchemed converts rows plain rows of blocks blocks of plain bytes each. Absent rows are blocks of zero bytes.
func packSchemed(s *dtype.Scheme, dst, src []byte, rows, blocks, plain int) {
	clear(dst)
	absent := make([]byte, plain)
	var f dtype.Fields
	for r := range rows16 {
		for b := range blocks {
			in := absent
			if r < rows {
				in = src[(r*blocks+b)*plain:][:plain]
			}
			s.Split(&f, in)
			packFields(s, dst[b*s.PanelBytes():][:s.PanelBytes()], &f, r)
		}
	}
}

// packFields adds row r to a cleared block of a panel.
func packFields(s *dtype.Scheme, block []byte, f *dtype.Fields, r int) {
	le.PutUint16(block[2*r:], f.D)
	if s.Mins {
		le.PutUint16(block[2*rows16+2*r:], f.M)
	}
	scales, mins := s.PanelScales()
	groups := 32 / s.Group
	for p := range s.Subs() {
		part := block[s.PanelHead()+p*s.PanelSub():][:s.PanelSub()]
		packPlanes(s.Planes(), part, f.Q[32*p:][:32], r)
		if !s.Super {
			continue
		}
		for g := range groups {
			part[scales+g*rows16+r] = byte(f.Scale[p*groups+g])
			if s.Mins {
				part[mins+g*rows16+r] = byte(f.Min[p*groups+g])
			}
		}
	}
}

// packPlanes adds the elements of row r to cleared planes.
func packPlanes(planes []int, part, q []byte, r int) {
	low := 0
	for _, bits := range planes {
		only := uint32(1)<<bits - 1
		for j := range words {
			word := le.Uint32(q[4*j:]) >> low & (only * 0x01010101) << (bits * (j / bits))
			at := part[j%bits*lineBytes+4*r:]
			le.PutUint32(at, le.Uint32(at)|word)
		}
		part, low = part[bits*lineBytes:], low+bits
	}
}

// unpackSchemed is the inverse of packSchemed.
func unpackSchemed(s *dtype.Scheme, dst, src []byte, rows, blocks, plain int) {
	var f dtype.Fields
	for r := range rows {
		for b := range blocks {
			UnpackFields(s, &f, src[b*s.PanelBytes():][:s.PanelBytes()], r)
			s.Join(dst[(r*blocks+b)*plain:][:plain], &f)
		}
	}
}

// UnpackFields reads row r of a block of a panel.
func UnpackFields(s *dtype.Scheme, f *dtype.Fields, block []byte, r int) {
	f.D = le.Uint16(block[2*r:])
	if s.Mins {
		f.M = le.Uint16(block[2*rows16+2*r:])
	}
	scales, mins := s.PanelScales()
	groups := 32 / s.Group
	for p := range s.Subs() {
		part := block[s.PanelHead()+p*s.PanelSub():][:s.PanelSub()]
		unpackPlanes(s.Planes(), f.Q[32*p:][:32], part, r)
		if !s.Super {
			continue
		}
		for g := range groups {
			f.Scale[p*groups+g] = int8(part[scales+g*rows16+r])
			if s.Mins {
				f.Min[p*groups+g] = int8(part[mins+g*rows16+r])
			}
		}
	}
}

// unpackPlanes reads the 32 elements of row r in the planes of a part.
func unpackPlanes(planes []int, q, part []byte, r int) {
	clear(q)
	low := 0
	for _, bits := range planes {
		only := uint32(1)<<bits - 1
		for j := range words {
			word := le.Uint32(part[j%bits*lineBytes+4*r:]) >> (bits * (j / bits)) & (only * 0x01010101)
			le.PutUint32(q[4*j:], le.Uint32(q[4*j:])|word<<low)
		}
		part, low = part[bits*lineBytes:], low+bits
	}
}
