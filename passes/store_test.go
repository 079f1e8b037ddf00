package passes

import "testing"

// TestStore: elements stay where they are until all are taken back, and are handed out again then.
func TestStore(t *testing.T) {
	var s store[int]
	fill := func() (lists [][]int) {
		for i, n := range []int{1, storeBlock - 1, 0, 3, 2 * storeBlock, 5} {
			list := s.cut(n)
			if len(list) != n || cap(list) != n {
				t.Fatalf("%d elements, room for %d, want %d", len(list), cap(list), n)
			}
			for k := range list {
				list[k] = i
			}
			lists = append(lists, list)
		}
		return append(lists, []int{*s.put(6)})
	}
	for range 2 {
		for i, list := range fill() {
			for _, x := range list {
				if x != i {
					t.Fatalf("list %d holds what list %d was given", i, x)
				}
			}
		}
		blocks := len(s.blocks)
		s.reset()
		if fill(); len(s.blocks) != blocks {
			t.Errorf("%d blocks for what %d held before", len(s.blocks), blocks)
		}
		s.reset()
	}
}
