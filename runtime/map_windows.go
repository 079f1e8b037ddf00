package runtime

import (
	"os"
	"syscall"
	"unsafe"
)

// mapFile maps part of a file read-only with the calls that package syscall provides. The view keeps the mapping and
// the file alive, so both handles may be closed.
func mapFile(f *os.File, offset, length int64) (b []byte, mapped bool, err error) {
	if int64(int(length)) != length {
		return nil, false, syscall.ENOMEM
	}
	h, err := syscall.CreateFileMapping(syscall.Handle(f.Fd()), nil, syscall.PAGE_READONLY, 0, 0, nil)
	if err != nil {
		return nil, false, os.NewSyscallError("CreateFileMapping", err)
	}
	defer syscall.CloseHandle(h)
	addr, err := syscall.MapViewOfFile(h, syscall.FILE_MAP_READ, uint32(offset>>32), uint32(offset), uintptr(length))
	if err != nil {
		return nil, false, os.NewSyscallError("MapViewOfFile", err)
	}
	// The indirection is for vet, which cannot know that the address is not one of Go's heap.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&addr)), int(length)), true, nil
}

func unmapFile(b []byte) error {
	return os.NewSyscallError("UnmapViewOfFile", syscall.UnmapViewOfFile(uintptr(unsafe.Pointer(unsafe.SliceData(b)))))
}
