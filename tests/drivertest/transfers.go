package drivertest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
)

// The memories of the tests of transfers: two of the device, two of the host, and an index on each.
const (
	onDevice, onDevice2, deviceIndex = 0, 1, 2
	onHost, onHost2, hostIndex       = 3, 4, 5
	transferBytes                    = 4096
	indexes                          = 16
)

// openTransfers opens a device with these memories, filled at random, and returns their contents.
func (s *Suite) openTransfers(t *testing.T, a Access, random *rand.Rand) (*Bench, [][]byte) {
	sizes := []int64{transferBytes, transferBytes, 4 * indexes}
	b := s.Open(t, Setting{Device: sizes, Host: sizes, Access: a})
	var model [][]byte
	for i, m := range b.Memory {
		x := make([]byte, m.Bytes())
		for j := range x {
			x[j] = byte(random.Uint32())
		}
		model = append(model, x)
		if i < onHost {
			if err := b.Device.Load(m, x); err != nil {
				t.Fatal(err)
			}
		} else {
			copy(bytesOf(m), x)
		}
	}
	return b, model
}

func bytesOf(m runtime.Memory) []byte {
	h := m.(runtime.HostMemory)
	return unsafe.Slice((*byte)(h.Base), h.Size)
}

// contents returns the bytes of a memory.
func contents(b *Bench, i int) []byte {
	if i >= onHost {
		return bytesOf(b.Memory[i])
	}
	return FloatBytes(b.Read(i, int(b.Memory[i].Bytes()/4)))
}

// move is a transfer by plain Go.
func move(t *runtime.Transfer, model [][]byte) {
	dst, src := model[t.Dst.Memory][t.Dst.Offset:], model[t.Src.Memory][t.Src.Offset:]
	if t.Picks > 0 {
		for i := range t.Picks {
			at := t.Elem * int(binary.LittleEndian.Uint32(model[t.Index.Memory][t.Index.Offset+4*i:]))
			copy(dst[at:at+t.Elem], src[at:])
		}
		return
	}
	for i := range t.Shape[0] {
		for j := range t.Shape[1] {
			for k := range t.Shape[2] {
				for l := range t.Shape[3] {
					at := i*t.Stride[0] + j*t.Stride[1] + k*t.Stride[2] + l*t.Stride[3]
					copy(dst[:t.Elem], src[at:])
					dst = dst[t.Elem:]
				}
			}
		}
	}
}

// randomBox returns a dense or strided transfer that fits into the memories.
func randomBox(random *rand.Rand, dst, src int) runtime.Transfer {
	for {
		t := anyBox(random)
		if t.Len() <= transferBytes && t.Reach() <= transferBytes {
			t.Dst = runtime.Span{Memory: dst, Offset: random.IntN(transferBytes - t.Len() + 1)}
			t.Src = runtime.Span{Memory: src, Offset: random.IntN(transferBytes - t.Reach() + 1)}
			return t
		}
	}
}

func anyBox(random *rand.Rand) runtime.Transfer {
	t := runtime.Transfer{Elem: 1 << random.IntN(5), Label: &Label}
	stride := t.Elem
	for i := 3; i >= 0; i-- {
		t.Shape[i] = 1 + random.IntN(4)
		t.Stride[i] = stride
		stride *= t.Shape[i]
		if random.IntN(3) == 0 {
			stride *= 2
		}
	}
	random.Shuffle(4, func(i, j int) {
		if random.IntN(2) == 0 {
			t.Shape[i], t.Shape[j] = t.Shape[j], t.Shape[i]
			t.Stride[i], t.Stride[j] = t.Stride[j], t.Stride[i]
		}
	})
	return t
}

// transfersOfAllForms compares random transfers in all directions with plain copies. Some are repeated with new data.
func (s *Suite) transfersOfAllForms(t *testing.T) {
	for _, a := range s.Accesses {
		for _, way := range [][2]int{{onDevice, onHost}, {onHost, onDevice}, {onDevice, onDevice2}, {onHost, onHost2}} {
			if way[1] == onHost2 && a != Shared {
				continue
			}
			t.Run(fmt.Sprintf("%s/%v", a, way), func(t *testing.T) {
				random := rand.New(rand.NewPCG(uint64(way[0]), uint64(way[1])))
				b, model := s.openTransfers(t, a, random)
				for range 40 {
					box := randomBox(random, way[0], way[1])
					for range 1 + random.IntN(2) {
						fresh(b, model, way[1], random)
						b.Copy(box)
						b.Finish(0)
						move(&box, model)
						compare(t, b, model, box)
					}
				}
			})
		}
	}
}

// fresh changes a memory of the host.
func fresh(b *Bench, model [][]byte, i int, random *rand.Rand) {
	if i == onHost {
		binary.LittleEndian.PutUint64(model[i][8*random.IntN(transferBytes/8):], random.Uint64())
		copy(bytesOf(b.Memory[i]), model[i])
	}
}

func compare(t *testing.T, b *Bench, model [][]byte, what runtime.Transfer) {
	t.Helper()
	if err := b.Fault(); err != nil {
		t.Fatal(err)
	}
	if got := contents(b, what.Dst.Memory); !bytes.Equal(got, model[what.Dst.Memory]) {
		t.Fatalf("wrong bytes after %+v", what)
	}
}

// picks copies picked elements in all directions, with the index on either side.
func (s *Suite) picks(t *testing.T) {
	for _, a := range s.Accesses {
		for _, way := range [][3]int{
			{onDevice, onHost, hostIndex}, {onDevice, onHost, deviceIndex}, {onHost, onDevice, hostIndex},
			{onHost, onDevice, deviceIndex}, {onDevice, onDevice2, hostIndex}, {onDevice, onDevice2, deviceIndex},
		} {
			t.Run(fmt.Sprintf("%s/%v", a, way), func(t *testing.T) { s.pickSome(t, a, way) })
		}
	}
}

// pickSome copies picked elements between the memories way[0] and way[1] with an index in way[2].
func (s *Suite) pickSome(t *testing.T, a Access, way [3]int) {
	random := rand.New(rand.NewPCG(7, 7))
	b, model := s.openTransfers(t, a, random)
	for range 20 {
		n, elem := 1+random.IntN(30), 4*(1+random.IntN(8))
		pick := runtime.Transfer{
			Dst: runtime.Span{Memory: way[0], Offset: 12}, Src: runtime.Span{Memory: way[1], Offset: 20}, Label: &Label,
			Elem: elem, Shape: [4]int{1, 1, 1, n}, Stride: [4]int{0, 0, 0, elem},
			Index: runtime.Span{Memory: way[2], Offset: 4}, Picks: 1 + random.IntN(indexes-1),
		}
		for i := range indexes {
			binary.LittleEndian.PutUint32(model[way[2]][4*i:], uint32(random.IntN(n)))
		}
		setIndex(t, b, way[2], model[way[2]])
		b.Copy(pick)
		b.Finish(0)
		move(&pick, model)
		compare(t, b, model, pick)
	}
}

func setIndex(t *testing.T, b *Bench, i int, x []byte) {
	if i == hostIndex {
		copy(bytesOf(b.Memory[i]), x)
	} else if err := b.Device.Load(b.Memory[i], x); err != nil {
		t.Fatal(err)
	}
}

// wrongTransfersFail also checks that later work is skipped and events are signalled.
func (s *Suite) wrongTransfersFail(t *testing.T) {
	outside := Dense(&Label, onDevice, transferBytes-4, onHost, 0, 8)
	wrongPick := runtime.Transfer{
		Dst: runtime.Span{Memory: onDevice}, Src: runtime.Span{Memory: onHost}, Label: &Label, Elem: 4,
		Shape: [4]int{1, 1, 1, 3}, Stride: [4]int{0, 0, 0, 4}, Index: runtime.Span{Memory: hostIndex}, Picks: 1,
	}
	for _, c := range []struct {
		name string
		t    runtime.Transfer
		want string
	}{
		{"outside", outside, "bytes 4092 to 4100 of 4096 of memory 0"},
		{"pick", wrongPick, "element -1 of 3 is picked"},
		{"host", Dense(&Label, onHost, 0, onHost2, 0, 8), "within the memory of the host"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, _ := s.openTransfers(t, Staged, rand.New(rand.NewPCG(1, 1)))
			binary.LittleEndian.PutUint32(bytesOf(b.Memory[hostIndex]), ^uint32(0))
			b.Blocks[0].Step = 5
			b.Copy(c.t)
			b.Copy(Dense(&Label, onDevice, 0, onHost, 0, 8))
			b.Finish(0)
			err := b.Fault()
			var f *runtime.FaultError
			if !errors.As(err, &f) || f.Device != "gpu" || f.Command != "@step split 3: %x = copy %y" {
				t.Fatalf("error %v, want a fault of the transfer", err)
			}
			if s := fmt.Sprint(f.Value); !strings.Contains(s, c.want) || !strings.Contains(s, "step 5 on ") {
				t.Errorf("%q, want step 5: %s", s, c.want)
			}
		})
	}
}

// uploadsAreCutIntoParts loads more than the staging memory holds, and clears it.
func (s *Suite) uploadsAreCutIntoParts(t *testing.T) {
	const n = 10 << 20 // floats: two and a half halves of the staging memory
	var done []int64
	progress := func(at, total int64) {
		if total != 4*n {
			t.Errorf("a total of %d bytes, want %d", total, 4*n)
		}
		done = append(done, at)
	}
	b := s.Open(t, Setting{Device: []int64{4 * n}, Access: s.Accesses[len(s.Accesses)-1], Progress: progress})
	x := Ramp(n)
	b.Load(0, x)
	if got := b.Read(0, n); !bytes.Equal(FloatBytes(got), FloatBytes(x)) {
		t.Error("the upload is wrong")
	}
	if want := "[16777216 33554432 41943040]"; fmt.Sprint(done) != want {
		t.Errorf("progress %v, want %s", done, want)
	}
	b.Clear(0)
	for i, x := range b.Read(0, n) {
		if x != 0 {
			t.Fatalf("x[%d] = %v after Clear", i, x)
		}
	}
}
