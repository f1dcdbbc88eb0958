#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Heat maps of `lasthop-lab grid`: efficiency and queueing delay over loss and RTT.

    experiments/plot/grid.py DIR/grid.jsonl [--scheme rack]

writes efficiency.png, efficiency.svg, delay.png and delay.svg beside the file:
one row per scheme, one column per congestion control, medians over the seeds.
`lasthop-lab grid` calls it. Without matplotlib it exits with 3.
"""

import argparse
import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path

try:
    import matplotlib
except ImportError:
    sys.exit(3)

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.colors import LogNorm, Normalize  # noqa: E402

FULL_FRAME_BYTES = 1514
# The rate at which the grid has all round trips.
CENTRE_RATE_MBIT = 20
CC_ORDER = ["reno", "cubic", "bbr"]


def read_runs(path):
    """The latest run of each cell of the grid proper, at the centre's rate."""
    runs = {}
    for line in path.read_bytes().splitlines():
        try:
            run = json.loads(line)
        except ValueError:
            continue  # torn, or no result
        if run.get("variant") == "base" and run["rate_mbit"] == CENTRE_RATE_MBIT:
            runs[run["cell"]] = run
    return list(runs.values())


def queueing_delay_ms(run):
    """Median RTT beyond the unloaded one; None without a sample."""
    if run["rtt_p50_ms"] is None:
        return None
    frame_ms = FULL_FRAME_BYTES * 8 / (run["rate_mbit"] * 1e3)
    return run["rtt_p50_ms"] - run["rtt_ms"] - frame_ms


def medians(runs, figure):
    """(scheme, cc, rtt, loss) -> median of the figure over the seeds."""
    values = defaultdict(list)
    for run in runs:
        value = figure(run)
        if value is not None:
            values[run["scheme"], run["cc"], run["rtt_ms"], run["loss_pct"]].append(value)
    return {key: statistics.median(of_seeds) for key, of_seeds in values.items()}


def draw(cells, axes_of, title, unit, norm, colours, text, stem):
    """One picture: a heat map per scheme and congestion control."""
    schemes, ccs, rtts, losses = axes_of
    fig, axes = plt.subplots(
        len(schemes),
        len(ccs),
        figsize=(1.5 + 3.6 * len(ccs), 1.2 + 2.8 * len(schemes)),
        squeeze=False,
        sharex=True,
        sharey=True,
        constrained_layout=True,
    )
    image = None
    for row, scheme in enumerate(schemes):
        for column, cc in enumerate(ccs):
            axis = axes[row][column]
            grid = [[cells.get((scheme, cc, rtt, loss), float("nan")) for loss in losses] for rtt in rtts]
            # What lies below the scale has its first colour; a logarithmic one would leave it out.
            shown = [[max(value, norm.vmin) for value in line] for line in grid]
            image = axis.imshow(shown, norm=norm, cmap=colours, aspect="auto", origin="lower")
            for y, line in enumerate(grid):
                for x, value in enumerate(line):
                    if value == value:
                        red, green, blue, _ = image.cmap(norm(max(value, norm.vmin)))
                        dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
                        axis.text(x, y, text(value), ha="center", va="center", fontsize=7, color="white" if dark else "black")
            axis.set_xticks(range(len(losses)), [f"{loss:g}" for loss in losses])
            axis.set_yticks(range(len(rtts)), [f"{rtt:g}" for rtt in rtts])
            axis.set_title(f"{cc}, {'no agent' if scheme == 'none' else scheme}", fontsize=10)
            if row == len(schemes) - 1:
                axis.set_xlabel("loss, both directions (%)")
            if column == 0:
                axis.set_ylabel("RTT (ms)")
    fig.suptitle(title)
    fig.colorbar(image, ax=axes, label=unit)
    for suffix in ("png", "svg"):
        fig.savefig(stem.with_suffix(f".{suffix}"), dpi=150)
    plt.close(fig)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="grid.jsonl of lasthop-lab grid")
    parser.add_argument("--scheme", default="rack", help="scheme to draw last (rack)")
    options = parser.parse_args()
    runs = read_runs(options.results)
    if not runs:
        return
    rank = {"none": 0, options.scheme: 2}
    schemes = sorted({run["scheme"] for run in runs}, key=lambda name: (rank.get(name, 1), name))
    ccs = sorted({run["cc"] for run in runs}, key=lambda cc: (CC_ORDER + [cc]).index(cc))
    rtts = sorted({run["rtt_ms"] for run in runs})
    losses = sorted({run["loss_pct"] for run in runs})
    axes_of = (schemes, ccs, rtts, losses)
    directory = options.results.parent
    draw(
        medians(runs, lambda run: run["efficiency"]),
        axes_of,
        "Goodput as a share of the bound, 20 Mbit/s",
        "share of the bound",
        Normalize(0, 1),
        "viridis",
        lambda value: f"{value:.2f}",
        directory / "efficiency",
    )
    draw(
        medians(runs, queueing_delay_ms),
        axes_of,
        "Queueing delay: median RTT beyond the unloaded one, 20 Mbit/s",
        "ms (logarithmic)",
        LogNorm(1, 400),
        "magma_r",
        lambda value: f"{value:.0f}",
        directory / "delay",
    )


if __name__ == "__main__":
    main()
