package runtime

import "time"

// processStart is the earliest time that a library can record after the start of the process.
var processStart = time.Now()
