#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Names the crates that are linked into programs, with their licences and the texts of these.

scripts/licences.py CRATE... >FILE      a text names once all crates that have it
"""
import json
import pathlib
import subprocess
import sys


def linked(metadata, names):
    """The crates below `names` that end up in them; not those that only build or test them."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in metadata["packages"]}
    todo = [id for id, package in packages.items() if package["name"] in names]
    found = set()
    while todo:
        id = todo.pop()
        if id in found:
            continue
        found.add(id)
        todo += [d["pkg"] for d in nodes[id]["deps"] if any(k["kind"] is None for k in d["dep_kinds"])]
    # Those of the workspace are ours.
    strangers = [packages[id] for id in found if packages[id]["source"]]
    return sorted(strangers, key=lambda package: (package["name"], package["version"]))


def texts(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    names = ("licen", "copying", "copyright", "notice")
    # A crate that brings another library's source has that one's licences in its folder.
    for pattern in ("*", "*/*"):
        for file in sorted(folder.glob(pattern)):
            if file.name.lower().startswith(names) and file.is_file() and file.suffix not in (".rs", ".json"):
                yield file.read_text(errors="replace").strip()


def main():
    names = sys.argv[1:]
    if not names:
        sys.exit(__doc__)
    host = [line for line in subprocess.check_output(["rustc", "-vV"], text=True).splitlines() if line.startswith("host: ")]
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", host[0].split()[1]]
    packages = linked(json.loads(subprocess.check_output(command, text=True)), names)
    programs = " and ".join(names)
    if not packages:
        sys.exit(f"licences: {programs}: no crates of others: cargo metadata says something new")
    by_text = {}
    print(f"Libraries in {programs}, and their licences.\n")
    for package in packages:
        name = f'{package["name"]} {package["version"]}'
        licence = package["license"] or "as below"
        print(f"{name}: {licence}. " + (", ".join(package["authors"]) or package["repository"] or ""))
        for text in texts(package):
            by_text.setdefault(text, []).append(name)
    for text, names in by_text.items():
        print(f'\n{"-" * 80}\n{", ".join(dict.fromkeys(names))}:\n\n{text}')


main()
