#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""README's picture of before and after: the same download without and with the agent.

    scripts/picture.py BINARIES FILE.svg            # as root, two to three minutes
    scripts/picture.py BINARIES FILE.svg --from F   # of what `compare -j` printed into F

Runs `lasthop-lab compare`, which tells its progress on a terminal, and draws a bar of
goodput for each congestion control and scheme. The SVG is written by hand, so that it
is small, needs no package, and a change of it can be read. Ends with 1 if a byte was
wrong or a figure is missing.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import escape

NAMES = {"reno": "Reno", "cubic": "CUBIC", "bbr": "BBR"}
SCHEMES = {"none": "without", "rack": "with lasthop"}
OPTIONS = ["--rate", "20mbit", "--rtt", "110ms", "--local-rtt", "10ms", "--loss", "2%",
           "--cc", ",".join(NAMES), "--scheme", ",".join(SCHEMES), "--duration", "15s", "--seed", "1"]
# Pixels. Text is about 7 wide per letter.
WIDTH, LEFT, BAR, ROW, GROUP = 740, 160, 340, 22, 14

# Readable on white and on dark; who prefers dark gets lighter letters.
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #57606a }
.title { font-weight: 600; font-size: 14px }
.none { fill: #b8bfc6 }
.with { fill: #2f81f7 }
.bound { stroke: #57606a; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #9da7b1 }
  .none { fill: #6e7681 }
  .bound { stroke: #9da7b1 }
}
"""


def measure(binaries):
    """The lines of `compare -j`."""
    command = [str(Path(binaries) / "lasthop-lab"), "compare", *OPTIONS, "-j"]
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        sys.exit(run.returncode)
    return run.stdout


def cells(text):
    """Results by congestion control and scheme; all of them, and every byte right."""
    found = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        result = json.loads(line)
        if not result["content_ok"]:
            sys.exit(f"picture: {result['cc']} {result['scheme']}: the content was wrong")
        found[result["cc"], result["scheme"]] = result
    for cc in NAMES:
        for scheme in SCHEMES:
            if (cc, scheme) not in found:
                sys.exit(f"picture: there is no result of {cc} with scheme {scheme}")
    return found


def text_at(x, y, words, **attributes):
    """A line of text; `kind` is its class."""
    more = "".join(f' {name.replace("kind", "class")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:g}" y="{y:g}"{more}>{escape(words)}</text>'


def bar(y, result, scale):
    """A bar of goodput, its scheme before it and its figures behind it."""
    scheme, goodput = result["scheme"], result["goodput_mbit"]
    kind = "none" if scheme == "none" else "with"
    label = f"{goodput:.1f} Mbit/s, RTT p95 {result['rtt_p95_ms']:.0f} ms"
    length = max(goodput * scale, 1)
    return [
        text_at(LEFT - 8, y + 14, SCHEMES[scheme], **{"text-anchor": "end"}),
        f'<rect class="{kind}" x="{LEFT}" y="{y + 3}" width="{length:.1f}" height="16" rx="2"/>',
        text_at(LEFT + (length + 8 if length < BAR / 2 else BAR + 12), y + 15, label),
    ]


def draw(found):
    """The picture."""
    bound = max(result["bound_mbit"] for result in found.values())
    scale, y = BAR / bound, 34
    top, body = y, []
    for cc, name in NAMES.items():
        body.append(text_at(8, y + 26, name, kind="title"))
        for scheme in SCHEMES:
            body += bar(y, found[cc, scheme], scale)
            y += ROW
        y += GROUP
    x = LEFT + BAR
    body.append(f'<line class="bound" x1="{x}" y1="{top - 6}" x2="{x}" y2="{y - GROUP + 4}"/>')
    body.append(text_at(x, y + 4, f"what the link can carry: {bound:.1f} Mbit/s", **{"text-anchor": "middle"}))
    title = "Goodput of one download: 20 Mbit/s, 110 ms, 2 % of the frames lost at random"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 14}" width="{WIDTH}" role="img">'
    return "\n".join([
        head,
        "<!-- SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause; made by scripts/picture.py -->",
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style>",
        text_at(8, 16, title, kind="title"),
        *body,
        "</svg>",
    ]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binaries", help="directory of lasthop-lab")
    parser.add_argument("picture", type=Path, help="SVG to write")
    parser.add_argument("--from", dest="source", type=Path, help="output of `compare -j`, in place of runs")
    options = parser.parse_args()
    text = options.source.read_text() if options.source else measure(options.binaries)
    picture = draw(cells(text))
    options.picture.write_text(picture)
    print(f"picture: {options.picture}, {len(picture)} bytes")


if __name__ == "__main__":
    main()
