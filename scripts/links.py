#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whether links between pages, and what code says of pages, lead somewhere.

    scripts/links.py       # from anywhere in the repository; ends with 1 if one does not

Of every tracked page (*.md): relative links, to files and to headings in them. Of every tracked
text file: pages that it names, sections of docs/design.md, and invariants.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Bytes for fuzzers, and what is read by nobody.
SKIP = ("crates/lasthop-fuzz/corpus/", "crates/lasthop-fuzz/findings/", "experiments/traces/", "LICENSES/")

LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)\)")
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.S | re.M)
HEADING = re.compile(r"^#{1,6} +(.*?) *$", re.M)
NUMBERED = re.compile(r"^#{1,6} +(\d+(?:\.\d+)?) ", re.M)
ROW = re.compile(r"^\| (\d+\.\d+) \|", re.M)
# Comment signs at the beginning of a line: citations run over line ends.
CONTINUED = re.compile(r"\n[ \t]*(?://[/!]?|\*|#)?[ \t]*")
PAGE = re.compile(r"(?<![\w./-])((?:[\w.-]+/)*[\w-]+\.md)\b")
SECTION = re.compile(r"design\.md\)?(?:\]\([^)]*\))?, (?:sections? )?((?:\d+(?:\.\d+)?(?:, | and |, and )?)+)")
INVARIANT = re.compile(r"[Ii]nvariants? ((?:I\d+(?:, | and )?)+)")


def tracked():
    """Tracked text files with their text."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    for name in filter(None, names.stdout.decode().split("\0")):
        path = ROOT / name
        if name.startswith(SKIP) or not path.is_file():
            continue
        try:
            yield name, path.read_text()
        except UnicodeDecodeError:
            continue


def anchors(text):
    """Anchors of a page's headings, as GitHub makes them."""
    found = {}
    for heading in HEADING.findall(re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        count = found.get(slug, -1) + 1
        found[slug] = count
        if count:
            found[f"{slug}-{count}"] = 0
    return set(found)


def wrong_links(name, text, pages):
    """Links of the page @name that lead nowhere."""
    for target in LINK.findall(CODE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = (ROOT / name).parent / file if file else ROOT / name
        if not path.exists():
            yield f"there is no {target}"
        elif anchor and path.suffix == ".md" and anchor not in anchors(path.read_text()):
            yield f"{file or 'the page'} has no heading #{anchor}"
    for page in PAGE.findall(CODE.sub(lambda m: m.group(0) if "\n" not in m.group(0) else "", text)):
        yield from missing_page(name, page, pages)


def missing_page(name, page, pages):
    """Whether the page that @name speaks of is there: below the root or a directory above @name."""
    above = [Path(name).parent, *Path(name).parent.parents]
    beside = (directory / page for directory in above)
    if any((ROOT / path).exists() for path in beside) or ("/" not in page and page in pages):
        return
    yield f"there is no page {page}"


def sections():
    """Numbers of sections of the design, and the invariants."""
    text = "\n".join(p.read_text() for p in [ROOT / "docs/design.md", *sorted((ROOT / "docs/design").glob("*.md"))])
    return set(NUMBERED.findall(text)) | set(ROW.findall(text)), set(re.findall(r"\*\*(I\d+)\*\*", text))


def wrong_citations(text, known, invariants):
    """Sections and invariants that are cited but not there."""
    joined = CONTINUED.sub(" ", text)
    for cited in SECTION.findall(joined):
        for number in re.findall(r"\d+(?:\.\d+)?", cited):
            if number not in known:
                yield f"docs/design.md has no section {number}"
    for cited in INVARIANT.findall(joined):
        for number in re.findall(r"I\d+", cited):
            if number not in invariants:
                yield f"docs/design.md has no invariant {number}"


def main():
    files = list(tracked())
    pages = {Path(name).name for name, _ in files if name.endswith(".md")}
    known, invariants = sections()
    wrong = 0
    for name, text in files:
        found = list(wrong_citations(text, known, invariants))
        if name.endswith(".md"):
            found += wrong_links(name, text, pages)
        else:
            for page in PAGE.findall(text):
                found += missing_page(name, page, pages)
        for what in found:
            print(f"lint: {name}: {what}", file=sys.stderr)
        wrong += len(found)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
