package flow

func BoolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// AlignUp rounds n up to a multiple of align.
func AlignUp(n, align int64) int64 { return (n + align - 1) / align * align }
