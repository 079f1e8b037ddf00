package tile

// SegmentLen is the positions of a segment: attention sums each segment of a context by
// itself and adds the sums up in order, so that workers can share a context and no result
// depends on how many they are. It is a part of what attention computes: programs compiled
// with another one differ in rounding.
//
// A shorter one lets more workers share a short context, and adds up more often; of a block
// of queries, adding up takes 1 to 2 % of the time that 512 positions take.
const SegmentLen = 512

// ChunkLen is the positions that attention reads at once. States that keep only the last positions have room for whole
// chunks, so that each is in consecutive rows. Segments are whole chunks.
const ChunkLen = 128

// Segments returns how many segments so many positions have.
func Segments(positions int) int { return (positions + SegmentLen - 1) / SegmentLen }
