package runtime

// Versions of the contract between emitted code and this package. Emitted code records the version for which it was
// generated, and compiles only if that version is in [MinVersion, MaxVersion]. A change that breaks old emitted code
// raises both.
const (
	MinVersion = 5
	MaxVersion = 5
)

// EnforceVersion makes a version mismatch a compile error. Emitted code contains
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
