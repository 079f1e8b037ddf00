//go:build !purego

package cpu

import "syscall"

// allowTiles asks the system to let this process use tile registers, and reports whether it does: since Linux 5.16
// what has to be saved of them, 8 KiB a thread, is there only for who asks
// (https://docs.kernel.org/arch/x86/xstate.html). The answer is no as well where a thread has a stack for
// signals that could not hold them; those of Go can.
func allowTiles() bool {
	const archReqXcompPerm, xfeatureTileData = 0x1023, 18
	_, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, archReqXcompPerm, xfeatureTileData, 0)
	return errno == 0
}
