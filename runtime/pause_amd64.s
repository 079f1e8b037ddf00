//go:build !purego

#include "textflag.h"

// func pause()
// One PAUSE: 40 cycles or so in which a spinning core leaves the other thread of its
// core, and the cache line it polls, alone (Intel SDM volume 2, PAUSE).
TEXT ·pause(SB), NOSPLIT, $0-0
	PAUSE
	RET
