package interp

// The kernels that tests of races and of orders use. All are correct.

// treeSum adds up the 64 numbers of each group in shared memory.
const treeSum = `kernel tree_sum threads=64 args=(x: u64, y: u64) {
	shared part: i32[64]
	%g = group
	%t = thread
	%zero = const i32 0
	%one = const i32 1
	%six = const i32 6
	%width = const i32 64
	%half = const i32 32
	%first = mul %g, %width
	%i = add %first, %t
	%o = offset %i {4}
	%p = add %x, %o
	%v = load i32 %p
	shared_store part %t, %v
	barrier
	for %s = %zero to %six step %one {
		%count = bitcast u32 %s
		%stride = shr %half, %count
		%active = lt %t, %stride
		if %active {
			%other = add %t, %stride
			%a = shared_load part %t
			%b = shared_load part %other
			%c = add %a, %b
			shared_store part %t, %c
		}
		barrier
	}
	%last = eq %t, %zero
	if %last {
		%sum = shared_load part %zero
		%go = offset %g {4}
		%q = add %y, %go
		store %q, %sum
	}
}`

// transpose transposes a 64 x 64 matrix by tiles of 16 x 16. Each group has a row of tiles.
const transpose = `kernel transpose threads=256 args=(x: u64, y: u64) {
	shared tile: i32[256]
	%g = group
	%t = thread
	%zero = const i32 0
	%one = const i32 1
	%four = const i32 4
	%side = const i32 16
	%width = const i32 64
	%row = div %t, %side
	%column = rem %t, %side
	%top = mul %g, %side
	for %n = %zero to %four step %one {
		%left = mul %n, %side
		%r = add %top, %row
		%c = add %left, %column
		%rw = mul %r, %width
		%from = add %rw, %c
		%fo = offset %from {4}
		%p = add %x, %fo
		%v = load i32 %p
		shared_store tile %t, %v
		barrier
		%cs = mul %column, %side
		%turned = add %cs, %row
		%w = shared_load tile %turned
		%r2 = add %left, %row
		%c2 = add %top, %column
		%rw2 = mul %r2, %width
		%to = add %rw2, %c2
		%to4 = offset %to {4}
		%q = add %y, %to4
		store %q, %w
		barrier
	}
}`

// scan computes the sums up to each of 512 numbers: each of 128 threads adds up four of them, the sums of the threads
// are scanned in shared memory, and each thread adds what precedes its four.
const scan = `kernel scan threads=128 args=(x: u64, y: u64) {
	shared sums: i32[128]
	%t = thread
	%zero = const i32 0
	%one = const i32 1
	%seven = const i32 7
	%four = const i32 4
	%mine = mul %t, %four
	%sum = for %i = %zero to %four step %one carry (%s = %zero) {
		%e = add %mine, %i
		%o = offset %e {4}
		%p = add %x, %o
		%v = load i32 %p
		%s2 = add %s, %v
		yield %s2
	}
	shared_store sums %t, %sum
	barrier
	for %n = %zero to %seven step %one {
		%count = bitcast u32 %n
		%stride = shl %one, %count
		%has = le %stride, %t
		%before = if %has {
			%b = sub %t, %stride
			%w = shared_load sums %b
			yield %w
		} else {
			yield %zero
		}
		barrier
		%own = shared_load sums %t
		%both = add %own, %before
		shared_store sums %t, %both
		barrier
	}
	%some = lt %zero, %t
	%start = if %some {
		%previous = sub %t, %one
		%w2 = shared_load sums %previous
		yield %w2
	} else {
		yield %zero
	}
	%end = for %i2 = %zero to %four step %one carry (%a = %start) {
		%e2 = add %mine, %i2
		%o2 = offset %e2 {4}
		%p2 = add %x, %o2
		%v2 = load i32 %p2
		%a2 = add %a, %v2
		%q = add %y, %o2
		store %q, %a2
		yield %a2
	}
}`
