#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Format, warnings, generated files, imports, licences, and the core compiled for the
# targets that the machine's compilers know.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { echo "lint: $*"; }

# Ends with 1 if there are lines at the input, and shows them. (`! grep` as a step would not: set -e
# takes no notice of what is inverted.)
none() {
	local lines
	lines=$(cat)
	[ -z "$lines" ] && return
	printf '%s\n' "$lines" | sed "s/^/lint: $1: /" >&2
	return 1
}

step "clang-format"
clang-format-19 --dry-run --Werror core/*.[ch] core/scheme/*.[ch] bpf/*.[ch]
clang-format-19 --dry-run --Werror ns3/lasthop/*/*.cc ns3/lasthop/*/*.h

step "cargo fmt"
cargo fmt --all --check

step "cargo clippy"
cargo clippy --workspace --all-targets --locked -q -- -D warnings

step "the oldest Rust that Cargo.toml names compiles it"
oldest=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
if cargo "+$oldest" --version >/dev/null 2>&1; then
	cargo "+$oldest" check --workspace --all-targets --locked -q --target-dir target/oldest
else
	echo "skipped: Rust $oldest is not installed (rustup toolchain install $oldest --profile minimal)"
fi

step "bindings are those of the headers"
libclang=$(dirname "$(find /usr/lib/llvm-*/lib -name 'libclang*.so*' | sort | tail -n 1)")
LIBCLANG_PATH=$libclang cargo run --locked -q -p xtask -- bindings --check

step "no import runs in a circle between the modules of a crate"
cargo run --locked -q -p xtask -- modules

step "cargo deny: licences and origins of what we use, and what is known against it (deny.toml)"
if cargo deny --version >/dev/null 2>&1; then
	cargo deny --locked --log-level error check licenses bans sources
	# What is known is in a repository of its own.
	if timeout 60 cargo deny --locked fetch db >/dev/null 2>&1; then
		cargo deny --locked --log-level error check --disable-fetch advisories
	else
		echo "skipped: advisories: no way to github.com/RustSec/advisory-db"
	fi
else
	echo "skipped: cargo deny is not installed (cargo install cargo-deny --locked)"
fi

step "core: warnings as errors, gcc and clang, 32 bits and big-endian where there is a compiler"
flags="-std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter -ffreestanding -fsyntax-only"
for cc in gcc clang-19 powerpc-linux-gnu-gcc mips-linux-gnu-gcc; do
	if command -v "$cc" >/dev/null 2>&1; then $cc $flags core/core.c; fi
done
if echo '#include <stdint.h>' | gcc -m32 -x c -fsyntax-only - 2>/dev/null; then
	gcc -m32 $flags core/core.c
else
	echo "skipped: -m32, no 32-bit headers (package gcc-multilib)"
fi

step "every source file names its licence, none is longer than 600 lines"
bad=0
while IFS= read -r f; do
	case $f in
	*.rs | *.c | *.h | *.cc | *.sh | Makefile | .ci/run)
		head -n 3 "$f" | grep -q 'SPDX-License-Identifier' || { echo "lint: $f: no SPDX line" >&2; bad=1; }
		;;
	esac
	case $f in
	*bindings.rs) ;;
	*.rs | *.c | *.h | *.cc | *.sh)
		[ "$(wc -l <"$f")" -le 600 ] || { echo "lint: $f: more than 600 lines" >&2; bad=1; }
		;;
	esac
done < <(git ls-files)
[ $bad = 0 ]

step "links between pages lead somewhere, and so do sections that code cites"
python3 scripts/links.py

# What is cited is in the repository, or a paper or RFC (docs/design.md, section 12). Allowed: constants
# of tests called SPEC.
step "no text outside the repository is cited"
ours=(. ':!LICENSES' ':!crates/lasthop-fuzz/corpus'
	':!crates/lasthop-fuzz/findings' ':!scripts/lint.sh')
cited() {
	git grep -nIwE 'SPEC|DESIGN|S[0-4]|Q[0-9]{1,2}' -- "${ours[@]}" |
		grep -vE '^[^:]*\.rs:[0-9]+:.*(const SPEC: |\bSPEC(\.[a-z]|\[|\)|, ))' || true
	git grep -nIE '§|(^|[^a-z])papers/|\.\./shared' -- "${ours[@]}" || true
}
none "cited, but not here" < <(cited)

step "the core includes no header of a system but <std*.h>"
none "included" < <(grep -nE '#include <' core/*.[ch] core/scheme/*.[ch] | grep -vE '<std(bool|def|int)\.h>')
echo "lint: ok"
