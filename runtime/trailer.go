package runtime

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// TrailerSize is the length in bytes of a Trailer in a file.
const TrailerSize = 128

// WeightsBoundary is the alignment of appended weights in a file: the largest granularity at which a system maps
// files (64 KiB, on Windows).
const WeightsBoundary = 64 << 10

// trailerMagic begins a trailer; its last byte is the version of this format.
const trailerMagic = "ggmlcwt\x01"

// Trailer is the last TrailerSize bytes of a file that carries weights: an executable
// that they were appended to, or a weights file of their own. It is written as
//
//	 0  magic "ggmlcwt", 1
//	 8  offset of the weights, u64
//	16  their length in bytes, u64
//	24  where an earlier trailer ends, u64; 0 if there is none
//	32  plan id, ASCII, padded with zeros to 64 bytes
//	96  SHA-256 of the weights, 32 bytes
//
// with integers little-endian. Nothing may follow it, and the weights end where it
// begins, so that a file that was cut or appended to is noticed at once.
//
// A program with a fallback has two weights: those of the fallback, with their trailer, come first.
type Trailer struct {
	Offset, Length int64
	Before         int64  // where the trailer of other weights ends; 0 if there are none
	PlanID         string // at most 64 characters
	SHA256         [32]byte
}

// AppendTrailer appends the trailer's bytes to b. The writer of an executable copies the program, fills with zeros up
// to a multiple of WeightsBoundary (Offset), writes the weights, then the trailer.
func AppendTrailer(b []byte, t Trailer) []byte {
	if len(t.PlanID) > 64 || t.Offset < 0 || t.Length < 0 || t.Before < 0 {
		panic("runtime: internal error: a trailer that has no form in a file")
	}
	var plan [64]byte
	copy(plan[:], t.PlanID)
	b = append(b, trailerMagic...)
	b = binary.LittleEndian.AppendUint64(b, uint64(t.Offset))
	b = binary.LittleEndian.AppendUint64(b, uint64(t.Length))
	b = binary.LittleEndian.AppendUint64(b, uint64(t.Before))
	b = append(b, plan[:]...)
	return append(b, t.SHA256[:]...)
}

// ReadTrailer reads the trailer of a file of the given size and checks that it describes
// that file: that the weights begin at a boundary and end where the trailer begins.
func ReadTrailer(r io.ReaderAt, size int64) (Trailer, error) {
	if size < TrailerSize {
		return Trailer{}, errors.New("the file is too short to carry weights")
	}
	var b [TrailerSize]byte
	if _, err := r.ReadAt(b[:], size-TrailerSize); err != nil {
		return Trailer{}, err
	}
	t, err := parseTrailer(b[:])
	if err != nil {
		return Trailer{}, err
	}
	if t.Length != size-TrailerSize-t.Offset {
		return Trailer{}, fmt.Errorf("the weights should be at %d to %d, right before the last %d bytes of a file of %d: it was cut or appended to",
			t.Offset, t.Offset+t.Length, TrailerSize, size)
	}
	return t, nil
}

// parseTrailer reads the fields and bounds each of them.
func parseTrailer(b []byte) (Trailer, error) {
	if string(b[:8]) != trailerMagic {
		return Trailer{}, errors.New("it does not end with weights: the end was cut off, or something was appended (a signature, a strip)")
	}
	offset, length, before := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
	const limit = 1 << 62 // so that no sum of two wraps
	if offset > limit || length > limit || offset%WeightsBoundary != 0 {
		return Trailer{}, fmt.Errorf("weights at offset %d with length %d are impossible", offset, length)
	}
	if before > offset {
		return Trailer{}, fmt.Errorf("other weights should end at %d, before those at %d", before, offset)
	}
	t := Trailer{Offset: int64(offset), Length: int64(length), Before: int64(before), PlanID: string(bytes.TrimRight(b[32:96], "\x00"))}
	copy(t.SHA256[:], b[96:])
	return t, nil
}

// matches checks that the weights described by t are the ones that p was compiled with.
func (t Trailer) matches(p *Program) error {
	if t.PlanID != p.PlanID {
		return fmt.Errorf("its weights were packed for plan %s, this program has plan %s: use the file that was made together with it", t.PlanID, p.PlanID)
	}
	if t.Length != p.Weights.Size {
		return fmt.Errorf("it has %d bytes of weights, this program needs %d: use the file that was made together with it", t.Length, p.Weights.Size)
	}
	if got := hex.EncodeToString(t.SHA256[:]); got != p.Weights.SHA256 {
		return fmt.Errorf("its weights have the hash %s, this program was compiled with %s: use the file that was made together with it", got, p.Weights.SHA256)
	}
	return nil
}
