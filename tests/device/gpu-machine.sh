#!/usr/bin/env bash
# Runs what there is for NVIDIA GPUs on a machine with one that has neither Go nor a network.
#
#	tests/device/gpu-machine.sh pack DIR [MODEL.gguf REFERENCES.json MKGGUF_SOURCE]
#	DIR/gpu-machine.sh run DIR REPORT [MINUTES]
#
# pack makes all that is needed in DIR, of at most 64 MiB: tests and programs for CUDA and Vulkan, and a Go toolchain without
# what programs for the CPU do not need, with which large random models are compiled there. run works through the stages
# below in this order, for so many minutes (default: 9), and writes one report, with a trace of kernels beside it:
# conformance, tokens and the sanitizer before any figure. A stage that fails, or that takes longer than it may, does not
# keep later ones from running. What the driver's kernel module logged follows it. The status is 1 if a stage failed.
# GGMLC_STAGES is a regular expression that chooses stages by name.
set -euo pipefail

say() { printf '\n=== %s\n' "$*"; }

# --- pack

# programs of the small model, by name: the flags of ggmlc
declare -A programs=(
	[cuda]='--targets cuda,cpu --deny cpu'
	[vulkan]='--targets vulkan,cpu --deny cpu'
	[cuda-split]='--targets cuda,cpu --pin blk.[0-1].*=cuda --pin (blk.[2-3]|output).*=cpu --pipeline 2'
	[cuda-attention]='--targets cuda,cpu --pin blk.*.attn.*=cuda --pin blk.*.ffn.*=cpu'
	[cuda-host]='--targets cuda:space=host,cpu --deny cpu'
	[cuda-profile]='--targets cuda,cpu --deny cpu --profile'
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
	CGO_ENABLED=0 go test -c -trimpath -ldflags='-s -w' -o "$dir/ptx.test" ./kernels/gpu/ptx
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
	tar -C "$root" -cf - --exclude='*_test.go' --exclude=testdata --exclude=src/cmd --exclude=src/internal/trace/traceviewer --exclude='*.syso' \
		VERSION go.env bin/go pkg/include pkg/tool/linux_amd64/{asm,compile,link} src | tar -C "$1/go" -xf -
	tar -C "$cache" -cf - --exclude='*_test.go' --exclude=testdata --exclude=examples \
		"github.com/ebitengine/$(basename "$(go list -m -f '{{.Dir}}' github.com/ebitengine/purego)")" \
		cache/download/github.com/ebitengine/purego | tar -C "$1/modules" -xf -
}

# --- run

failed=() skipped=()

# stage runs a command as a stage of so many seconds at most.
stage() {
	local name=$1 limit=$2 began=$SECONDS status
	shift 2
	[[ $name =~ ${GGMLC_STAGES:-.} ]] || return
	if ((SECONDS >= deadline)); then
		skipped+=("$name")
		return
	fi
	say "$name"
	stage_end=$((SECONDS + limit < deadline ? SECONDS + limit : deadline))
	"$@"
	status=$?
	if ((status == 0)); then
		echo "--- $name: ok, $((SECONDS - began)) s"
		return
	fi
	((SECONDS < stage_end)) || echo "$name: its $((stage_end - began)) s are over"
	echo "--- $name: FAILED with status $status, $((SECONDS - began)) s"
	failed+=("$name")
	kernel_log
}

# left limits a command to the time that is left for the stage.
left() { timeout --kill-after=5 $((stage_end > SECONDS ? stage_end - SECONDS : 1)) "$@"; }

# kernel_log prints what the driver's kernel module reported last, such as an Xid.
kernel_log() { dmesg 2>/dev/null | grep -iE 'nvrm|xid|nvidia' | tail -5; }

# optional prints the output of a command, or that there is none.
optional() { command -v "$1" >/dev/null && left "$@" 2>&1 | tail -25 || echo "no $1"; }

machine() {
	date -u
	echo "commit $(<"$dir/commit")"
	uname -srm
	ldd --version 2>/dev/null | head -1
	grep -m1 'model name' /proc/cpuinfo
	echo "$(nproc) threads, $(awk '/MemTotal/ {print int($2 / 1048576)}' /proc/meminfo) GiB"
	cat /proc/driver/nvidia/version 2>/dev/null
	optional nvidia-smi
	optional nvidia-smi --query-gpu=name,driver_version,compute_cap,memory.total,clocks.max.sm,clocks.max.mem,ecc.mode.current,compute_mode,pcie.link.gen.current,pcie.link.width.current --format=csv
	ldconfig -p | grep -E 'libcuda|libvulkan|libnvidia-ptxjitcompiler|libGLX_nvidia' || echo 'ldconfig knows no driver'
	optional nvcc --version
	optional ptxas --version
	optional compute-sanitizer --version
	env | grep -E '^(CUDA|NVIDIA|VK|LD_LIBRARY)' || true
}

# assembles has ptxas judge emitted PTX.
assembles() {
	command -v ptxas >/dev/null || { echo 'no ptxas on this machine'; return 0; }
	(cd "$work" && GGMLC_REQUIRE=ptxas left "$dir/ptx.test" -test.v -test.run 'Assembles') >"$work/ptxas.log" 2>&1
	local status=$?
	grep -E -- '--- FAIL|modules|error|warning' "$work/ptxas.log" | head -40
	return $status
}

# profile prints the kernels that take the longest, and for how long the GPU worked on commands.
profile() {
	local trace=$work/trace.json
	left "$dir/story-cuda-profile" --prompt 'Once upon a time' -n "${GGMLC_TOKENS:-100}" --profile "$trace" >/dev/null || return 1
	grep -q '"kernel":' "$trace" || { echo 'no kernel has times of the GPU'; return 1; }
	sed -nE 's/.*"dur":([0-9.]+).*"kernel":"([^"]*)".*/\1 \2/p' "$trace" |
		awk '{t = $1; $1 = ""; sum[$0] += t; n[$0]++; all += t} END {for (k in sum) printf "%10.1f us %6d times %s\n", sum[k], n[k], k; printf "%10.1f us of kernels\n", all}' |
		sort -rn | head -20
	grep '"pid":1,' "$trace" | grep -v '"kernel":' | sed -nE 's/.*"ts":([0-9.]+),"dur":([0-9.]+).*/\1 \2/p' | sort -n |
		awk 'NR == 1 {first = $1} {sum += $2; last = $1 + $2} END {printf "%d commands and transfers: %.1f us of work in %.1f us\n", NR, sum, last - first}'
	gzip -c "$trace" >"$beside/trace.json.gz"
}

# devices lists and measures what there is.
devices() {
	left "$dir/ggmlc" devices && left "$dir/ggmlc" devices --measure
}

# conformance runs every case of every op on a backend. A summary replaces the list of what passes.
conformance() {
	local log=$work/conformance-$1.log
	(cd "$work" && GGMLC_REQUIRE=$2 left "$dir/device.test" -test.v -test.timeout "$((stage_end > SECONDS + 3 ? stage_end - SECONDS - 3 : 1))s" -test.run "$3") >"$log" 2>&1
	local status=$?
	grep -cE '^ *--- PASS' "$log" | sed 's/$/ pass/'
	grep -cE '^ *--- SKIP' "$log" | sed 's/$/ skipped/'
	grep -E '^ *--- FAIL' -A4 "$log" | head -60
	grep -m2 'a simulated driver' "$log"
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
	local program=$dir/story-$1 n=0 wrong=0 prompt want got
	while IFS='|' read -r prompt want || [[ $want ]]; do
		local count; count=$(tr ',' '\n' <<<"$want" | wc -l)
		((count <= ${GGMLC_TOKENS:-count})) || { count=$GGMLC_TOKENS; want=$(cut -d, -f"1-$count" <<<"$want"); }
		got=$(left "$program" --prompt "$prompt" -n "$count" --json --ignore-eos 2>"$work/stderr" | sed -nE 's/.*"id":([0-9]+).*/\1/p' | paste -sd,) || true
		if [[ $got != "$want" ]]; then
			printf '%s: %q\n got %s\nwant %s\n' "$1" "$prompt" "$got" "$want"
			head -20 "$work/stderr"
			wrong=$((wrong + 1))
			((SECONDS < stage_end)) || break
			continue
		fi
		n=$((n + 1))
	done <"$work/prompts"
	echo "$n prompts as llama.cpp, $wrong not"
	((n > 0 && wrong == 0))
}

# sanitize runs a program under a tool of compute-sanitizer.
sanitize() {
	command -v compute-sanitizer >/dev/null || { echo 'no compute-sanitizer on this machine'; return 0; }
	left compute-sanitizer --tool "$1" --error-exitcode 9 "$dir/story-cuda" --prompt 'Once upon a time' -n 8 >"$work/sanitizer" 2>&1
	local status=$?
	grep '^=====' "$work/sanitizer" | head -40
	((status == 0)) || tail -15 "$work/sanitizer"
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

# summary is printed even if the run is ended early.
summary() {
	say "${#failed[@]} stages failed, no time was left for ${#skipped[@]}"
	((${#failed[@]} == 0)) || printf 'failed: %s\n' "${failed[@]}"
	((${#skipped[@]} == 0)) || printf 'no time: %s\n' "${skipped[@]}"
	rm -rf "$work"
}

run() {
	set +e
	deadline=$((SECONDS + 60 * ${3:-9}))
	stage_end=$deadline
	work=$(mktemp -d) beside=$(dirname "$2")
	trap summary EXIT
	trap 'exit 1' TERM INT HUP
	dir=$work/pack
	mkdir "$dir" && tar -C "$dir" -xzf "$1/payload.tar.gz" || { echo "$1/payload.tar.gz: it cannot be unpacked"; failed+=(unpack); return 1; }
	prompts >"$work/prompts"
	export HOME=$work PATH=$dir/go/bin:$PATH GOROOT=$dir/go GOMODCACHE=$dir/modules GOCACHE=$work/cache GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local
	stage machine 30 machine
	stage 'tokens, cuda' 60 tokens cuda
	stage ptxas 60 assembles
	stage 'conformance, CUDA' 150 conformance cuda "${GGMLC_REQUIRE-cuda}" 'CUDA'
	local name tool quantize
	for name in cuda-split cuda-attention cuda-host; do
		stage "tokens, $name" 40 tokens "$name"
	done
	stage 'profile' 30 profile
	for tool in memcheck racecheck initcheck synccheck; do
		stage "compute-sanitizer $tool" 60 sanitize "$tool"
	done
	stage 'conformance, Vulkan' 60 conformance vulkan "${GGMLC_REQUIRE-}" 'Vulkan'
	stage 'tokens, vulkan' 40 tokens vulkan
	stage devices 120 devices
	if [[ -x $dir/mkgguf ]]; then
		for quantize in Q4_0 Q8_0 F16; do
			stage "1.1 B, $quantize" 120 figures 1b "$quantize" -arch llama -layers "${GGMLC_LAYERS:-16}" -embd 2048 -ff 8192 -heads 32 -kv-heads 8 -head-dim 64 -ctx 4096 -n-vocab 32000
		done
		for quantize in Q4_0 F16; do
			GGMLC_FIGURES=cuda:mma=wgmma stage "1.1 B, $quantize, mma=wgmma" 120 figures 1b "$quantize" -arch llama -layers "${GGMLC_LAYERS:-16}" -embd 2048 -ff 8192 -heads 32 -kv-heads 8 -head-dim 64 -ctx 4096 -n-vocab 32000
		done
		rm -f "$work/1b.gguf"
		for quantize in Q4_0 Q8_0 F16; do
			stage "8 B, $quantize" 300 figures 8b "$quantize" -arch llama -layers "${GGMLC_LAYERS:-32}" -embd 4096 -ff 14336 -heads 32 -kv-heads 8 -head-dim 128 -ctx 4096 -n-vocab 128256
		done
	fi
	((${#failed[@]} == 0))
}

case ${1-} in
pack) shift; pack "$@" ;;
run) report=$3; run "${@:2}" 2>&1 | tee "$report"; exit "${PIPESTATUS[0]}" ;;
*) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
