#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The ns-3 module by itself, as ns-3's App Store and bake want one: an archive to unpack in contrib/ of an
# ns-3 tree, with the core that it shares with the kernel in it.
#   scripts/ns3-archive.sh        target/package/lasthop-ns3-VERSION.tar.gz
# The same sources give the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
out=$PWD/target/package
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGES.md)}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

mkdir -p "$tmp/lasthop" "$out"
cp -r ns3/lasthop/. "$tmp/lasthop/"
cp -r core "$tmp/lasthop/core"
cp CITATION.cff "$tmp/lasthop/"
cp -r LICENSES "$tmp/lasthop/"
archive=$out/lasthop-ns3-$version.tar.gz
tar -C "$tmp" --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --mtime="@$epoch" -cf - lasthop |
	gzip -9n >"$archive"
sha256sum "$archive" | sed "s# .*/#  target/package/#"
