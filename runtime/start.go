package runtime

import "time"

// processStart is as near to the start of the process as a library can see.
var processStart = time.Now()
