#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# libFuzzer over everything that bytes of strangers reach (crates/lasthop-fuzz), with ASan and
# UBSan over the core.
#   scripts/fuzz.sh run [TARGET] [SECONDS]   looks for inputs, each target for so long (60)
#   scripts/fuzz.sh scout [TARGET] [SECONDS] the same without sanitizers, several times as fast, and
#                                            says when the core's edges grew; `run` then takes up
#                                            what it found (targets over the core)
#   scripts/fuzz.sh minimise [TARGET]        adds what was found to the corpus, as little as will do
#   scripts/fuzz.sh coverage [TARGET]        the core's lines and branches that the corpus reaches
# Found inputs and crashes are in target/fuzz/found/TARGET; a crash is an exit code of 1.
set -euo pipefail
cd "$(dirname "$0")/.."
verb=${1:-run}
targets=${2:-all}
seconds=${3:-60}
if [ "$targets" = all ]; then
	targets="packet transfer message configuration control capture"
	# The BPF programs beside the native core, over the same inputs as transfer.
	if [ "$verb" = run ] && [ "$(id -u)" = 0 ]; then targets+=" twin"; fi
fi
seeds() { echo "$corpus/${1/twin/transfer}"; }
machine=$(rustc -vV | sed -n 's/^host: //p')
clang=${LASTHOP_CLANG:-clang-19}
rust=target/fuzz
corpus=crates/lasthop-fuzz/corpus
# Rust in all programs that look for inputs.
checked="--cfg fuzzing -Cdebug-assertions -Coverflow-checks -Ccodegen-units=1 -Clinker=$clang"

over_core() { [[ $1 != @(configuration|control|capture) ]]; }

build() { # build DIRECTORY CORE-FLAGS RUST-FLAGS
	local cc=CC_${machine//-/_} cxx=CXX_${machine//-/_}
	env "$cc=$clang" "$cxx=${clang/clang/clang++}" LASTHOP_CORE_CFLAGS="$2" RUSTFLAGS="$3" \
		cargo build --release --locked -p lasthop-fuzz --features libfuzzer \
		--target "$machine" --target-dir "$1"
}

# Builds the program with which target $1 is looked for. What the core does is what counts for the
# targets over it: counting Rust's edges too would keep inputs that show nothing of the core, at a
# third of the speed.
fuzzer() {
	local flags=-fsanitize=address,undefined dir=$rust/core rustflags=
	local pass="-Cllvm-args=-sanitizer-coverage-"
	if ! over_core "$1"; then
		dir=$rust
		rustflags="-Cpasses=sancov-module ${pass}level=4 ${pass}inline-8bit-counters ${pass}pc-table
			${pass}trace-compares"
	fi
	build "$dir" "$flags,fuzzer-no-link -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -fno-inline -g" \
		"$checked -Clink-arg=$flags ${rustflags//$'\n'/ }"
	bin=$dir/$machine/release/lasthop-fuzz
}

# Without sanitizers, whose branches count as edges that nothing reaches, and without inlining, so
# that an edge of the source is one, however many callers it has.
scouter() {
	build "$rust/scout" "-fsanitize-coverage=inline-8bit-counters,pc-table -O1 -fno-inline -g \
		-DLH_TINY=static -Wno-unused-function" \
		"$checked -Clink-arg=-fsanitize=undefined"
	bin=$rust/scout/$machine/release/lasthop-fuzz
}

# Runs $bin for target $1 over its corpus and what was found since; the seeds are what a target needs
# to begin with. What follows is for libFuzzer.
look() {
	local target=$1
	shift
	mkdir -p "$rust/found/$target" "$rust/crashes/$target" "$(seeds "$target")"
	LASTHOP_FUZZ=$target ASAN_OPTIONS=malloc_context_size=0:quarantine_size_mb=8:${ASAN_OPTIONS:-} \
		"$bin" "$rust/found/$target" "$(seeds "$target")" \
		-max_total_time="$seconds" -max_len=4096 -timeout=20 -rss_limit_mb=2048 \
		-artifact_prefix="$rust/crashes/$target/" "$@"
}

found() {
	echo "fuzz: $1: found something: $rust/crashes/$1" >&2
	exit 1
}

# Of libFuzzer's lines those in which the number of edges grows, with the seconds since the start.
edges() {
	local line n most=0 last=0 begun=
	SECONDS=0
	while IFS= read -r line; do
		case $line in
		*ERROR* | *SUMMARY* | *panicked* | *'Test unit'* | *NEW_PC*) echo "$line" ;;
		esac
		[[ $line =~ cov:\ ([0-9]+) ]] || continue
		n=${BASH_REMATCH[1]}
		if [ "$n" -gt "$most" ]; then
			most=$n last=$SECONDS
			[ -z "$begun" ] || echo "fuzz: $most edges after $last s"
		fi
		case $line in
		*INITED*)
			begun=1 last=0 SECONDS=0
			echo "fuzz: begins with $most edges"
			;;
		esac
	done
	echo "fuzz: $most edges, the last one after $last of $SECONDS s"
}

scout() {
	local target
	scouter
	for target in $targets; do
		over_core "$target" || continue
		echo "fuzz: $target: $seconds s, without sanitizers"
		look "$target" -reload=1 -print_pcs=1 2>&1 | edges || found "$target"
	done
}

run() {
	local target
	for target in $targets; do
		fuzzer "$target"
		echo "fuzz: $target: $seconds s"
		look "$target" -print_final_stats=1 \
			2> >(grep -E '^(fuzz|stat::|==|.*(ERROR|SUMMARY|panicked|Test unit|runtime error))|cov: ' |
				awk '!/cov:/ || NR % 50 == 1 || /DONE/' >&2) || found "$target"
	done
}

minimise() {
	local target
	for target in $targets; do
		fuzzer "$target"
		rm -rf "$rust/least/$target"
		mkdir -p "$rust/least/$target" "$rust/found/$target" "$corpus/$target"
		LASTHOP_FUZZ=$target "$bin" -set_cover_merge=1 -use_counters=0 -max_len=4096 "$rust/least/$target" \
			"$corpus/$target" "$rust/found/$target" 2>&1 | tail -n 1
		rm -rf "${corpus:?}/$target"
		cp -r "$rust/least/$target" "$corpus/$target"
		echo "fuzz: $target: $(find "$corpus/$target" -type f | wc -l) inputs"
	done
}

coverage() {
	local target dir=target/fuzz-coverage version=${clang#clang}
	build "$dir" "-fprofile-instr-generate -fcoverage-mapping -g" \
		"-Clinker=$clang -Clink-arg=-fprofile-instr-generate"
	rm -f "$dir"/*.profraw
	for target in $targets; do
		LASTHOP_FUZZ=$target LLVM_PROFILE_FILE=$dir/$target.profraw \
			"$dir/$machine/release/lasthop-fuzz" -runs=0 "$corpus/$target" 2>/dev/null
	done
	"llvm-profdata$version" merge -o "$dir/all.profdata" "$dir"/*.profraw
	"llvm-cov$version" report "$dir/$machine/release/lasthop-fuzz" \
		-instr-profile="$dir/all.profdata"
}

case $verb in
run | scout | minimise | coverage) "$verb" ;;
*)
	echo "fuzz: there is no '$verb': run, scout, minimise or coverage" >&2
	exit 2
	;;
esac
