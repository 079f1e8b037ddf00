package runtime

// Versions of the contract between emitted code and this package. Emitted code records
// the version it was generated for; a program compiles only if MinVersion <= that <=
// MaxVersion. A change that old emitted code cannot survive raises both.
const (
	MinVersion = 2
	MaxVersion = 2
)

// EnforceVersion makes a version mismatch a compile error. Emitted code says
//
//	const (
//		// The runtime is newer than this file: generate the file again.
//		_ = runtime.EnforceVersion(gen - runtime.MinVersion)
//		// The runtime is older than this file: go get github.com/ggmlc/ggmlc@latest
//		_ = runtime.EnforceVersion(runtime.MaxVersion - gen)
//	)
//
// and a negative constant does not convert to an unsigned type.
type EnforceVersion uint
