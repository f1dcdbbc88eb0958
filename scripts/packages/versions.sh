# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The packages as other versions, and their scripts where there is no systemd. To be sourced by
# scripts/packages.sh.
# shellcheck disable=SC2154 # set by who sources it

# The deb again as another version: a program that is another file or, where a layout of connections is
# given, one that has another in its place.
next_deb() { # next_deb DEB VERSION TO [LAYOUT]
	local tree=$tmp/next
	rm -rf "$tree"
	dpkg-deb -R "$1" "$tree"
	sed -i "s/^Version: .*/Version: $2/" "$tree/DEBIAN/control"
	if [ "${4:-}" ]; then
		LC_ALL=C sed -i "s/$4/$(tr 0-9a-f a-f0-9 <<<"$4")/g" "$tree/usr/sbin/lasthop"
	fi
	dpkg-deb --root-owner-group -Zgzip -b "$tree" "$3" >/dev/null
}

# The layout that the program was built with: what its library was told, and is in it.
layout_of() { # layout_of PROGRAM
	sed -n 's/^cargo:rustc-env=LASTHOP_LAYOUT=//p' "$out"/build/dist/build/lasthop-core-*/output | sort -u |
		while read -r found; do
			if grep -qaF "$found" "$1"; then echo "$found"; fi
		done | grep .
}

# What scripts/packages/guest.sh installs.
put_packages() { # put_packages DIRECTORY
	local deb rpm tool layout
	mkdir -p "$1"
	deb=$(echo "$out"/lasthop_*.deb)
	rpm=$(echo "$out"/lasthop-*.rpm)
	layout=$(layout_of "$out/stage/usr/sbin/lasthop") || die "no layout of connections in the program"
	cp "$deb" "$1/first.deb"
	next_deb "$deb" 99.0-1 "$1/second.deb"
	next_deb "$deb" 99.1-1 "$1/apart.deb" "$layout"
	cp "$rpm" "$1/first.rpm"
	tool=$(PATH=$PATH:${XDG_CACHE_HOME:-$HOME/.cache}/lasthop/tools/bin command -v cargo-generate-rpm) || die "no cargo-generate-rpm"
	(cd "$root" && "$tool" generate-rpm -p crates/lasthop --auto-req builtin -o "$1/second.rpm" -s 'version = "99.0"')
}

# In a tree with a shell and little else the scripts have nothing to do, and must not fail. What is left
# in the end is what the operator wrote, and by a purge not even that.
empty_tree() { # empty_tree DIRECTORY
	local f
	rm -rf "$1"
	mkdir -p "$1"/{bin,dev,tmp,var/lib/dpkg/info,var/lib/dpkg/updates}
	cp -L "$(command -v busybox)" "$1/bin/"
	for f in sh rm rmdir; do ln -s busybox "$1/bin/$f"; done
	mknod -m 666 "$1/dev/null" c 1 3
	: >"$1/var/lib/dpkg/status"
}
tried() { # tried WHAT COMMAND...
	local what=$1
	shift
	"$@" >"$tmp/said" 2>&1 || fail "$what: $(tail -n 3 "$tmp/said" | tr '\n' '|')"
}
left_in() { # left_in TREE
	find "$1" -name '*lasthop*' ! -path '*/lib/rpm/*' | sed "s#^$1##" | sort | tr '\n' ' '
}
check_elsewhere() {
	local tree=$tmp/tree left
	[ "$(id -u)" = 0 ] || { skip "scripts where no systemd runs: installing there needs root"; return; }
	empty_tree "$tree"
	local dpkg=(dpkg --root="$tree" --force-depends --force-confold)
	tried "dpkg -i" "${dpkg[@]}" -i "$tmp/try/first.deb"
	tried "dpkg -i, upgrade" "${dpkg[@]}" -i "$tmp/try/second.deb"
	tried "dpkg -i, downgrade" "${dpkg[@]}" -i "$tmp/try/first.deb"
	mkdir "$tree/etc/lasthop/conf.d" && echo '# mine' >"$tree/etc/lasthop/conf.d/mine.toml"
	tried "dpkg -r" "${dpkg[@]}" -r lasthop
	[ -e "$tree/etc/lasthop/conf.d/mine.toml" ] || fail "dpkg -r: took what the operator wrote"
	tried "dpkg -P" "${dpkg[@]}" -P lasthop
	left=$(left_in "$tree")
	if [ -z "$left" ]; then ok "dpkg where no systemd runs: from installation to purge"; else fail "dpkg -P leaves $left"; fi
	command -v rpm >/dev/null 2>&1 || { skip "rpm where no systemd runs: no rpm here"; return; }
	empty_tree "$tree"
	tried "rpm -i" rpm --root "$tree" -i --nodeps "$tmp/try/first.rpm"
	tried "rpm -U" rpm --root "$tree" -U --nodeps "$tmp/try/second.rpm"
	tried "rpm -U --oldpackage" rpm --root "$tree" -U --nodeps --oldpackage "$tmp/try/first.rpm"
	echo '# mine' >>"$tree/etc/lasthop/lasthop.toml"
	tried "rpm -e" rpm --root "$tree" -e lasthop
	left=$(left_in "$tree")
	if [ "$left" = "/etc/lasthop /etc/lasthop/lasthop.toml.rpmsave " ]; then
		ok "rpm where no systemd runs: from installation to removal"
	else
		fail "rpm -e leaves $left"
	fi
}
