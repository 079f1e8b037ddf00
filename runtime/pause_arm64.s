//go:build !purego

#include "textflag.h"

// func pause()
// ISB rather than YIELD: on cores without threads YIELD takes no time, ISB takes some
// tens of cycles, as PAUSE does.
TEXT ·pause(SB), NOSPLIT, $0-0
	ISB $15
	RET
