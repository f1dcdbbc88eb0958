#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Packages of the agent, each into target/package (docs/packages.md):
#   scripts/package.sh stage|deb|rpm|image|image-lab
# `stage` only lays out the files. The same sources, tools and path of the repository give the same
# bytes, whoever builds where: SOURCE_DATE_EPOCH is the last commit's time unless set.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
out=$root/target/package
stage=$out/stage
tools=${XDG_CACHE_HOME:-$HOME/.cache}/lasthop/tools/bin

die() { echo "package: $*" >&2; exit 1; }

# Tars without history: the last change of CHANGES.md is theirs.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGES.md)}
export SOURCE_DATE_EPOCH

# Neither the repository's place nor the builder's home goes into the programs.
build() { # build CRATE...
	local crate leaks built=()
	for crate in "$@"; do built+=("$out/build/dist/$crate"); done
	RUSTFLAGS="--remap-path-prefix=$root=/lasthop --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo" \
		cargo build --locked --profile dist --target-dir "$out/build" "${@/#/-p}"
	# All of them first: a pipe that `head` closes ends the writers, and that would look like none found.
	if leaks=$(strings -a "${built[@]}" | grep -F -e "$root" -e "${CARGO_HOME:-$HOME/.cargo}"); then
		head -n 3 <<<"$leaks" >&2
		die "a program contains paths of this machine: see the lines above, and build()"
	fi
}

put() { # put MODE FILE DESTINATION
	install -D -m "$1" "$2" "$stage/$3"
}

put_compressed() { # put_compressed FILE DESTINATION: without name and time
	put 644 "$1" "$2"
	gzip -9nf "$stage/$2"
}

put_pages() {
	local f
	"$out/build/dist/lasthop-pages" man "$out/man"
	for f in "$out"/man/*; do
		put_compressed "$f" "usr/share/man/man${f##*.}/${f##*/}"
	done
	"$out/build/dist/lasthop-pages" completions "$out/completions"
	put 644 "$out/completions/lasthop.bash" usr/share/bash-completion/completions/lasthop
	put 644 "$out/completions/lasthop.fish" usr/share/fish/vendor_completions.d/lasthop.fish
	# Debian's place and all others'; each package takes its own.
	put 644 "$out/completions/_lasthop" usr/share/zsh/vendor-completions/_lasthop
	put 644 "$out/completions/_lasthop" usr/share/zsh/site-functions/_lasthop
	"$out/build/dist/lasthop-pages" config "$out/config"
	put 644 "$out/config/lasthop.toml" etc/lasthop/lasthop.toml
}

stage() {
	local f doc=usr/share/doc/lasthop
	build lasthop lasthop-exporter lasthop-pages
	rm -rf "$stage" "$out/man" "$out/completions" "$out/config"
	for f in lasthop lasthop-exporter; do
		put 755 "$out/build/dist/$f" "usr/sbin/$f"
	done
	for f in packaging/systemd/*.service; do
		put 644 "$f" "usr/lib/systemd/system/${f##*/}"
	done
	put_pages
	# As they lie in the repository, so that they find each other.
	for f in README.md SECURITY.md ARCHITECTURE.md $(find docs crates/lasthop/docs contrib/{grafana,prometheus} -type f); do
		put 644 "$f" "$doc/$f"
	done
	put 644 packaging/deb/copyright "$doc/copyright"
	for f in LICENSE LICENSES/*; do
		put 644 "$f" "usr/share/licenses/lasthop/${f##*/}"
	done
	python3 scripts/licences.py lasthop lasthop-exporter >"$out/third-party.txt"
	put 644 "$out/third-party.txt" "$doc/third-party.txt"
	put_compressed CHANGES.md "$doc/changelog"
	find "$stage" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

told() { # told FILE...
	(cd "$root" && sha256sum "${@#"$root/"}")
}

deb() {
	local tool
	tool=$(PATH=$PATH:$tools command -v cargo-deb) || die "no cargo-deb: run scripts/setup.sh package"
	rm -f "$out"/lasthop_*.deb
	"$tool" deb -q -p lasthop --no-build --no-strip --no-dbgsym -o "$out/"
	told "$out"/lasthop_*.deb
}

rpm() {
	local tool
	tool=$(PATH=$PATH:$tools command -v cargo-generate-rpm) || die "no cargo-generate-rpm: run scripts/setup.sh package"
	rm -f "$out"/lasthop-*.rpm
	# Of rpm's own helper only Fedora's kin have the one that works there: always the same answer.
	"$tool" generate-rpm -p crates/lasthop --auto-req builtin -o "$out/"
	told "$out"/lasthop-*.rpm
}

# The first of them that can build here.
builder() {
	local b
	for b in podman buildah docker; do
		command -v $b >/dev/null 2>&1 || continue
		$b info >/dev/null 2>&1 && echo $b && return
		echo "package: $b is installed, but '$b info' fails" >&2
	done
	return 1
}

# Nothing but the program and the libraries that it loads: no shell, nothing from a registry.
image() {
	local b lib version context=$out/image
	if ! b=$(builder); then
		echo "skipped: image: neither podman nor buildah nor a docker that runs"
		return
	fi
	version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
	rm -rf "$context" && mkdir -p "$context/root/run" "$context/root/tmp"
	cp -r --preserve=timestamps "$stage/etc" "$context/root/"
	install -D -m 755 "$stage/usr/sbin/lasthop" "$context/root/usr/sbin/lasthop"
	cp -r "$stage/usr/share/licenses" "$context/root/"
	cp "$stage"/usr/share/doc/lasthop/{copyright,third-party.txt} "$context/root/licenses/lasthop/"
	for lib in $(ldd "$stage/usr/sbin/lasthop" | grep -o '/[^ ]*'); do
		install -D -m 755 "$lib" "$context/root$lib"
		lib_licence "$lib" "$context/root/licenses"
	done
	find "$context" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	build_image "$b" "lasthop:$version" packaging/oci/Containerfile "$context"
}

build_image() { # build_image BUILDER NAME CONTAINERFILE CONTEXT
	case $1 in
	buildah | podman) "$1" build -t "$2" --timestamp "$SOURCE_DATE_EPOCH" -f "$3" "$4" ;;
	docker) docker build -t "$2" -f "$3" "$4" ;;
	esac
	echo "package: image $2"
}

# The test bed, in a Debian of the release that it is built on with what the lab calls (what scripts/setup.sh
# has for `run`): from the package mirror, not from a registry of images.
image_lab() {
	local b f version release context=$out/image-lab
	if ! b=$(builder); then
		echo "skipped: image: neither podman nor buildah nor a docker that runs"
		return
	fi
	release=$(. /etc/os-release && [ "$ID" = debian ] && echo "$VERSION_CODENAME") || die "image-lab: build it on a Debian"
	version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
	build lasthop lasthop-lab linkemu
	rm -rf "$context" && mkdir -p "$context"
	mmdebstrap --quiet --variant=minbase \
		--include=iproute2,ethtool,procps,nftables,iptables,nginx-light,curl,openssl,libelf1,zlib1g \
		--dpkgopt='path-exclude=/usr/share/man/*' "$release" "$context/root"
	rm -rf "$context"/root/{var/cache/apt,var/lib/apt/lists}/* "$context"/root/dev/*
	for f in lasthop lasthop-lab linkemu; do
		install -D -m 755 "$out/build/dist/$f" "$context/root/usr/bin/$f"
	done
	mkdir -p "$context/root/usr/share/lasthop" "$context/root/usr/share/doc/lasthop"
	cp -r experiments "$context/root/usr/share/lasthop/"
	cp -r LICENSE LICENSES "$context/root/usr/share/doc/lasthop/"
	python3 scripts/licences.py lasthop lasthop-lab linkemu >"$context/root/usr/share/doc/lasthop/third-party.txt"
	build_image "$b" "lasthop-lab:$version" packaging/lab/Containerfile "$context"
}

# What Debian's package of a library says of its licence; elsewhere whoever passes the image on looks.
lib_licence() { # lib_licence FILE DIRECTORY
	local package
	package=$(dpkg-query -S "$(readlink -f "$1")" 2>/dev/null | sed 's/[:,].*//' | head -n 1) || true
	if [ -n "$package" ] && [ -e "/usr/share/doc/$package/copyright" ]; then
		install -D -m 644 "/usr/share/doc/$package/copyright" "$2/$package/copyright"
	else
		echo "package: no licence found of $1, which the image contains" >&2
	fi
}

case ${1:-} in
stage) stage ;;
deb) stage && deb ;;
rpm) stage && rpm ;;
image) stage && image ;;
image-lab) image_lab ;;
*) die "usage: scripts/package.sh stage|deb|rpm|image|image-lab" ;;
esac
