#!/usr/bin/env bash
# Runs what there is for NVIDIA GPUs on a machine with one that has neither Go nor a network.
#
#	tests/device/gpu-machine.sh pack DIR [MODEL.gguf REFERENCES.json MKGGUF_SOURCE]
#	DIR/gpu-machine.sh run DIR REPORT [MINUTES]
#
# pack makes all that is needed in DIR, of at most 64 MiB: tests and programs for CUDA and Vulkan, and a Go toolchain without
# what programs for the CPU do not need, with which large random models are compiled there. run works through the stages
# below in this order, for so many minutes (default: 9), and writes one report: conformance, tokens and the sanitizer
# before any figure. Its status is 1 if a stage failed.
set -euo pipefail

say() { printf '\n=== %s\n' "$*"; }

# --- pack

# programs of the small model, by name: the flags of ggmlc
declare -A programs=(
	[cuda]='--targets cuda,cpu --deny cpu'
	[vulkan]='--targets vulkan,cpu --deny cpu'
	[cuda-split]='--targets cuda,cpu --pin blk.[0-1].*=cuda --pin (blk.[2-3]|output).*=cpu --pipeline 2'
	[cuda-attention]='--targets cuda,cpu --pin blk.*.attn.*=cuda --pin blk.*.ffn.*=cpu'
)

pack() {
	local to=$1 model=${2:-../shared/data/aidreams260K.gguf} refs=${3:-../shared/data/aidreams260K.greedy.json} mkgguf=${4:-../shared/tools/mkgguf}
	local dir
	dir=$(mktemp -d)
	mkdir -p "$to"
	git describe --always --dirty >"$dir/commit" 2>/dev/null || echo unknown >"$dir/commit"
	export GOOS=linux GOARCH=amd64
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$dir/ggmlc" ./cmd/ggmlc
	CGO_ENABLED=0 go test -c -trimpath -ldflags='-s -w' -o "$dir/device.test" ./tests/device
	if [[ -d $mkgguf ]]; then
		local out; out=$(realpath "$dir")/mkgguf
		(cd "$mkgguf" && CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$out" .)
	fi
	local name
	for name in "${!programs[@]}"; do
		# shellcheck disable=SC2086 # flags are words
		(set -f; "$dir/ggmlc" build "$model" -o "$dir/story-$name" --kv f32 --batch 4 ${programs[$name]})
	done
	cp "$refs" "$dir/references.json"
	toolchain "$dir"
	tar -C "$dir" -czf "$to/payload.tar.gz" .
	rm -rf "$dir"
	cp "$0" "$to/gpu-machine.sh"
	local kib; kib=$(du -sk "$to" | cut -f1)
	echo "$to: $kib KiB"
	((kib <= 64 << 10)) || { echo "$to: more than the 64 MiB that travel" >&2; return 1; }
}

# toolchain packs what go build needs, and the module that programs for GPUs need.
toolchain() {
	local root cache
	root=$(go env GOROOT) cache=$(go env GOMODCACHE)
	mkdir "$1/go" "$1/modules"
	tar -C "$root" -cf - --exclude='*_test.go' --exclude=testdata --exclude=src/cmd \
		VERSION go.env bin/go pkg/include pkg/tool/linux_amd64/{asm,compile,link} src | tar -C "$1/go" -xf -
	tar -C "$cache" -cf - --exclude='*_test.go' --exclude=testdata --exclude=examples \
		"github.com/ebitengine/$(basename "$(go list -m -f '{{.Dir}}' github.com/ebitengine/purego)")" \
		cache/download/github.com/ebitengine/purego | tar -C "$1/modules" -xf -
}

# --- run

failed=()
stage() {
	local name=$1 began=$SECONDS
	shift
	if ((SECONDS >= deadline)); then
		say "$name: no time left"
		return
	fi
	say "$name"
	if "$@"; then
		echo "--- $name: ok, $((SECONDS - began)) s"
	else
		echo "--- $name: FAILED, $((SECONDS - began)) s"
		failed+=("$name")
	fi
}

# left limits a command to the time that is left.
left() { timeout --kill-after=5 $((deadline > SECONDS ? deadline - SECONDS : 1)) "$@"; }

machine() {
	date -u
	echo "commit $(<"$dir/commit")"
	nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm --format=csv,noheader 2>/dev/null || echo 'no nvidia-smi'
	grep -m1 'model name' /proc/cpuinfo
	nproc
}

# conformance runs every case of every op on a backend. A summary replaces the list of what passes.
conformance() {
	local log=$work/conformance-$1.log
	(cd "$work" && GGMLC_REQUIRE=$2 left "$dir/device.test" -test.v -test.run "$3") >"$log" 2>&1
	local status=$?
	grep -cE '^ *--- PASS' "$log" | sed 's/$/ pass/'
	grep -cE '^ *--- SKIP' "$log" | sed 's/$/ skipped/'
	grep -E '^ *--- FAIL' -A4 "$log" | head -60
	((status == 0)) || tail -20 "$log"
	return $status
}

# prompts prints the prompt and the tokens of each reference, separated by |.
prompts() {
	tr -d '\n' <"$dir/references.json" | sed 's/"prompt"/\n&/g' |
		sed -nE 's/^"prompt": *"([^"]*)".*"greedy": *\[([0-9, ]*)\].*/\1|\2/p' | sed -E ':again; s/(\|[0-9,]*) +/\1/; t again'
}

# tokens compares the tokens of a program with those of llama.cpp.
tokens() {
	local program=$dir/story-$1 n=0 prompt want got
	while IFS='|' read -r prompt want || [[ $want ]]; do
		local count; count=$(tr ',' '\n' <<<"$want" | wc -l)
		((count <= ${GGMLC_TOKENS:-count})) || { count=$GGMLC_TOKENS; want=$(cut -d, -f"1-$count" <<<"$want"); }
		got=$(left "$program" --prompt "$prompt" -n "$count" --json --ignore-eos 2>"$work/stderr" | sed -nE 's/.*"id":([0-9]+).*/\1/p' | paste -sd,) || true
		if [[ $got != "$want" ]]; then
			printf '%s: %q\n got %s\nwant %s\n' "$1" "$prompt" "$got" "$want"
			cat "$work/stderr"
			return 1
		fi
		n=$((n + 1))
	done <"$work/prompts"
	echo "$n prompts as llama.cpp"
	((n > 0))
}

# sanitize runs a program under a tool of compute-sanitizer.
sanitize() {
	command -v compute-sanitizer >/dev/null || { echo 'no compute-sanitizer on this machine'; return 0; }
	left compute-sanitizer --tool "$1" --error-exitcode 9 "$dir/story-cuda" --prompt 'Once upon a time' -n 8 >"$work/sanitizer" 2>&1
	local status=$?
	grep '^=====' "$work/sanitizer" | tail -20
	return $status
}

# figures measures a random model of the shape of a format.
figures() {
	local name=$1 quantize=$2 file=$work/$1.gguf
	shift 2
	[[ -e $file ]] || left "$dir/mkgguf" "$@" -seed 1 -o "$file" || return 1
	local program=$work/$name-$quantize flags=()
	[[ $quantize == F16 ]] || flags=(--quantize "$quantize")
	left "$dir/ggmlc" build "$file" -o "$program" --targets "${GGMLC_FIGURES:-cuda},cpu" --deny cpu --weights "$program.bin" --ctx 1024 "${flags[@]}" || return 1
	left "$program" bench -p 512 -n 64 -r 3
	local status=$?
	rm -f "$program" "$program.bin"
	return $status
}

run() {
	deadline=$((SECONDS + 60 * ${3:-9}))
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	dir=$work/pack
	mkdir "$dir" && tar -C "$dir" -xzf "$1/payload.tar.gz"
	prompts >"$work/prompts"
	set +e
	stage machine machine
	stage 'conformance, CUDA' conformance cuda "${GGMLC_REQUIRE-cuda}" 'CUDA'
	stage 'conformance, Vulkan' conformance vulkan "${GGMLC_REQUIRE-}" 'Vulkan'
	local name tool quantize
	for name in cuda cuda-split cuda-attention vulkan; do
		stage "tokens, $name" tokens "$name"
	done
	for tool in memcheck racecheck initcheck synccheck; do
		stage "compute-sanitizer $tool" sanitize "$tool"
	done
	if [[ -x $dir/mkgguf ]]; then
		export PATH=$dir/go/bin:$PATH GOROOT=$dir/go GOMODCACHE=$dir/modules GOCACHE=$work/cache GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local HOME=$work
		for quantize in Q4_0 Q8_0 F16; do
			stage "1.1 B, $quantize" figures 1b "$quantize" -arch llama -layers "${GGMLC_LAYERS:-16}" -embd 2048 -ff 8192 -heads 32 -kv-heads 8 -head-dim 64 -ctx 4096 -n-vocab 32000
		done
		rm -f "$work/1b.gguf"
		for quantize in Q4_0 Q8_0 F16; do
			stage "8 B, $quantize" figures 8b "$quantize" -arch llama -layers "${GGMLC_LAYERS:-32}" -embd 4096 -ff 14336 -heads 32 -kv-heads 8 -head-dim 128 -ctx 4096 -n-vocab 128256
		done
	fi
	say "${#failed[@]} stages failed: ${failed[*]-}"
	((${#failed[@]} == 0))
}

case ${1-} in
pack) shift; pack "$@" ;;
run) report=$3; run "${@:2}" 2>&1 | tee "$report"; exit "${PIPESTATUS[0]}" ;;
*) sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
