#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Figures of experiments: `lasthop-lab report` calls it.

    experiments/plot/experiment.py DIR/NAME/figures.json...

writes FIGURE.svg and FIGURE.png beside each file, one of both per figure in it.
crates/lasthop-lab/docs/experiments.md describes figures.json. The same input
makes the same bytes. Without matplotlib it exits with 3.
"""

import json
import math
import sys
from pathlib import Path

try:
    import matplotlib
except ImportError:
    sys.exit(3)

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402
from matplotlib.patches import Patch  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator  # noqa: E402
from matplotlib.transforms import offset_copy  # noqa: E402

# Okabe and Ito, without black, which is the paper's, and yellow, which is too pale for a line.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
DASHES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1))]
PAPER_MARKERS = ["*", "x", "+", "1"]
WIDTH_IN = 7.2
PANEL_HEIGHT_IN = 1.75

matplotlib.rcParams.update(
    {
        "font.size": 10.5,
        # Names that other machines have instead, of nearly the same widths: text stays text.
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans", "Verdana", "Geneva", "sans-serif"],
        "svg.fonttype": "none",
        "svg.hashsalt": "lasthop",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#dddddd",
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "lines.linewidth": 1.6,
        "figure.constrained_layout.use": True,
    }
)


def colour(index):
    return COLOURS[index % len(COLOURS)]


def axis_label(axis):
    unit = f" ({axis['unit']})" if axis["unit"] else ""
    return axis["label"] + unit


def finite(value):
    return value is not None and math.isfinite(value)


def save(fig, stem):
    # Nothing in the files may tell when or by what they were made.
    fig.savefig(stem.with_suffix(".svg"), metadata={"Date": None, "Creator": None})
    fig.savefig(stem.with_suffix(".png"), dpi=150, metadata={"Software": None})
    plt.close(fig)


def place_legend(fig, axis, handles):
    """Above the axes, in as many columns as fit: it covers no data there."""
    for columns in range(len(handles), 0, -1):
        legend = axis.legend(
            handles=handles,
            loc="lower left",
            bbox_to_anchor=(0, 1.01),
            ncol=columns,
            frameon=False,
            borderaxespad=0,
            handlelength=2.6,
            columnspacing=1.6,
        )
        width = legend.get_window_extent(fig.canvas.get_renderer()).width
        if width <= 0.86 * fig.bbox.width:
            return


def mark_never(axis, xs, own_colour):
    """Infinite values, such as times of transfers that never ended: at the upper edge."""
    axis.plot(
        xs,
        [0.985] * len(xs),
        transform=axis.get_xaxis_transform(),
        linestyle="none",
        marker="^",
        markersize=8,
        markerfacecolor="white",
        markeredgecolor=own_colour,
        clip_on=False,
    )


def draw_curve(axis, curve):
    """Means with their intervals, and the seeds behind them. Returns whether some are infinite."""
    own = colour(curve["index"])
    marker = MARKERS[curve["index"] % len(MARKERS)]
    dashes = DASHES[curve["index"] % len(DASHES)]
    seeds = [seed for seed in curve["seeds"] if finite(seed["value"])]
    if len({seed["seed"] for seed in seeds}) > 1:
        axis.plot(
            [seed["x"] for seed in seeds],
            [seed["value"] for seed in seeds],
            # Beside the bars, which would hide them.
            transform=offset_copy(axis.transData, axis.figure, x=6, units="points"),
            linestyle="none",
            marker=marker,
            markersize=3.2,
            markeredgewidth=0,
            color=own,
            alpha=0.45,
            zorder=2,
        )
    points = curve["points"]
    values = [point["value"] if finite(point["value"]) else math.nan for point in points]
    axis.plot(
        [point["x"] for point in points],
        values,
        color=own,
        marker=marker,
        linestyle=dashes,
        markersize=6,
        zorder=4,
    )
    # A ratio of means may lie outside the interval of the mean of ratios, so the bars have their
    # own middle.
    bars = [point for point in points if finite(point["low"]) and finite(point["high"])]
    axis.errorbar(
        [point["x"] for point in bars],
        [(point["low"] + point["high"]) / 2 for point in bars],
        yerr=[(point["high"] - point["low"]) / 2 for point in bars],
        fmt="none",
        ecolor=own,
        elinewidth=1.2,
        capsize=3.5,
        zorder=3,
    )
    never = [point["x"] for point in points if not finite(point["value"])]
    if never:
        mark_never(axis, never, own)
    return bool(never)


def curve_handle(curve):
    index = curve["index"]
    return Line2D(
        [],
        [],
        color=colour(index),
        marker=MARKERS[index % len(MARKERS)],
        linestyle=DASHES[index % len(DASHES)],
        markersize=6,
        label=curve["label"],
    )


def draw_reported(axis, reported):
    """What the paper says: black stars, in front of everything."""
    handles = []
    for index, curve in enumerate(reported):
        style = {
            "color": "black",
            "marker": PAPER_MARKERS[index % len(PAPER_MARKERS)],
            "markersize": 11 if index % len(PAPER_MARKERS) == 0 else 8,
            "linestyle": (0, (1, 1.4)) if len(curve["points"]) > 1 else "none",
            "linewidth": 1.3,
            "zorder": 6,
        }
        axis.plot([x for x, _ in curve["points"]], [y for _, y in curve["points"]], **style)
        handles.append(Line2D([], [], label=curve["label"], **style))
    return handles


def plain_number(value, _position):
    return f"{value:g}"


def set_log_ticks(which, points):
    """At the points themselves where these have room, since powers of ten may be far apart."""
    low, high = which.get_view_interval()
    if not (1e-3 <= low and high <= 1e5):
        which.set_minor_formatter(NullFormatter())
        return
    apart = min((b / a for a, b in zip(points, points[1:])), default=1)
    if points and math.log(apart) >= math.log(high / low) / 16:
        which.set_ticks(points)
        which.set_minor_locator(NullLocator())
    else:
        which.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 300 * low else (1,)))
    which.set_major_formatter(FuncFormatter(plain_number))
    which.set_minor_formatter(NullFormatter())


def set_scales(axis, figure):
    if figure["x"]["scale"] == "log":
        axis.set_xscale("log")
        set_log_ticks(axis.xaxis, sorted({point["x"] for curve in figure["curves"] for point in curve["points"]}))
    # Without a value above 0 there is nothing that it could show.
    if figure["y"]["scale"] == "log" and axis.dataLim.y1 > 0:
        axis.set_yscale("log", nonpositive="clip")
        set_log_ticks(axis.yaxis, [])
    if figure["ticks"]:
        axis.set_xticks([tick["x"] for tick in figure["ticks"]], [tick["label"] for tick in figure["ticks"]])
        axis.minorticks_off()


def draw_sweep(figure, stem):
    fig, axis = plt.subplots(figsize=(WIDTH_IN, 4.5))
    never = [draw_curve(axis, curve) for curve in figure["curves"]]
    paper = draw_reported(axis, figure["reported"])
    neutral = {"ratio": 1, "difference": 0}.get(figure["kind"])
    if neutral is not None:
        axis.axhline(neutral, color="#555555", linewidth=1, zorder=1)
    if any(curve["points"] for curve in figure["curves"] + figure["reported"]):
        set_scales(axis, figure)
    else:
        axis.text(0.5, 0.5, "no runs yet", transform=axis.transAxes, ha="center", va="center", color="#555555")
    if figure["kind"] == "value" and figure["y"]["scale"] == "linear":
        values = [point["value"] for curve in figure["curves"] for point in curve["points"]]
        if all(value >= 0 for value in values if finite(value)):
            axis.set_ylim(bottom=0)
    axis.set_xlabel(axis_label(figure["x"]))
    axis.set_ylabel(axis_label(figure["y"]))
    handles = [curve_handle(curve) for curve in figure["curves"]] + paper
    if any(never):
        handles.append(Line2D([], [], color="#555555", marker="^", markerfacecolor="white", linestyle="none", markersize=8, label="never"))
    fig.suptitle(figure["title"], x=0.012, ha="left", fontsize=12.5, fontweight="bold")
    place_legend(fig, axis, handles)
    save(fig, stem)


def read_samples(path):
    """flow -> its samples in the order of time. A torn last line is left out."""
    flows = {}
    for line in path.read_bytes().splitlines():
        try:
            sample = json.loads(line)
            flows.setdefault(sample["flow"], []).append(sample)
        except (ValueError, KeyError, TypeError):
            continue
    return flows


def steps(samples, key):
    """Only where the value changes, and the ends: files of 10 ms would be large pictures."""
    times, values = [], []
    last = len(samples) - 1
    for place, sample in enumerate(samples):
        value = math.nan if sample[key] is None else sample[key]
        if place in (0, last) or value != values[-1]:
            times.append(sample["at_ms"] / 1000)
            values.append(value)
    return times, values


def entries(samples, state):
    """Where the sender enters a state of recovery."""
    pairs = zip([{"ca_state": None}] + samples, samples)
    return [now for before, now in pairs if now["ca_state"] == state != before["ca_state"] and now["cwnd"] is not None]


# State of the sender's recovery -> how its beginning is marked.
EVENTS = {
    "recovery": {"marker": "v", "markersize": 5, "label": "fast retransmit"},
    "loss": {"marker": "X", "markersize": 6.5, "label": "timeout"},
}


def draw_panel(axis, curve, directory):
    """The window of one run. Returns its greatest window and threshold, and the events seen."""
    top_cwnd, top_ssthresh, seen = 0, 0, set()
    flows = read_samples(directory / curve["samples"]) if curve["samples"] else {}
    if not flows:
        axis.text(0.5, 0.5, "no samples of this run", transform=axis.transAxes, ha="center", va="center", color="#555555")
    for samples in flows.values():
        own = colour(curve["index"])
        times, cwnd = steps(samples, "cwnd")
        axis.plot(times, cwnd, drawstyle="steps-post", color=own, linewidth=1.4 if len(flows) == 1 else 0.9, zorder=3)
        times, ssthresh = steps(samples, "ssthresh")
        axis.plot(times, ssthresh, drawstyle="steps-post", color="#444444", linewidth=0.9, linestyle=(0, (4, 2)), zorder=2)
        top_cwnd = max([top_cwnd] + [value for value in cwnd if value == value])
        top_ssthresh = max([top_ssthresh] + [value for value in ssthresh if value == value])
        for state, style in EVENTS.items():
            marks = entries(samples, state)
            if marks:
                seen.add(state)
            axis.plot(
                [mark["at_ms"] / 1000 for mark in marks],
                [mark["cwnd"] for mark in marks],
                linestyle="none",
                markerfacecolor="white" if state == "recovery" else "black",
                markeredgecolor="black",
                markeredgewidth=0.9,
                zorder=4,
                **{key: style[key] for key in ("marker", "markersize")},
            )
    for start, end in curve["outages_s"]:
        axis.axvspan(start, end, color="#999999", alpha=0.35, linewidth=0, zorder=1)
    return top_cwnd, top_ssthresh, seen


def window_handles(seen, has_outage):
    handles = [
        Line2D([], [], color="#222222", linewidth=1.4, label="congestion window"),
        Line2D([], [], color="#444444", linewidth=0.9, linestyle=(0, (4, 2)), label="slow-start threshold"),
    ]
    for state, style in EVENTS.items():
        if state in seen:
            face = "white" if state == "recovery" else "black"
            handles.append(Line2D([], [], linestyle="none", markerfacecolor=face, markeredgecolor="black", **style))
    if has_outage:
        handles.append(Patch(color="#999999", alpha=0.35, linewidth=0, label="outage"))
    return handles


def time_span(figure, axes):
    """What the file asks for, else what was sampled: outages go on for ever."""
    ends = [x for axis in axes for line in axis.get_lines() if line.get_drawstyle() == "steps-post" for x in line.get_xdata()]
    first, last = figure["span_s"]
    return (0 if first is None else first), (max(ends, default=1) if last is None else last)


def draw_window(figure, stem):
    curves = figure["curves"]
    fig, grid = plt.subplots(
        len(curves), 1, figsize=(WIDTH_IN, 1.5 + PANEL_HEIGHT_IN * len(curves)), sharex=True, sharey=True, squeeze=False
    )
    axes = [row[0] for row in grid]
    tops = [draw_panel(axis, curve, stem.parent) for axis, curve in zip(axes, curves)]
    paper = []
    for axis, curve in zip(axes, curves):
        # In the panel's own corner: above its frame, so that it covers no curve.
        axis.annotate(
            curve["label"], (1, 1), xytext=(0, 3), xycoords="axes fraction", textcoords="offset points", ha="right", va="bottom",
            color=colour(curve["index"]), fontweight="bold",
        )  # fmt: skip
        paper = draw_reported(axis, figure["reported"])
    top_cwnd = max([1] + [top for top, _, _ in tops])
    # A threshold far above what the window ever reached would flatten the curves.
    top_ssthresh = min(max(top for _, top, _ in tops), 1.5 * top_cwnd)
    set_scales(axes[0], figure)
    if figure["y"]["scale"] == "linear":
        axes[0].set_ylim(0, 1.08 * max(top_cwnd, top_ssthresh))
    axes[0].set_xlim(*time_span(figure, axes))
    axes[-1].set_xlabel(axis_label(figure["x"]))
    fig.supylabel(axis_label(figure["y"]), fontsize=10.5)
    fig.suptitle(figure["title"], x=0.012, ha="left", fontsize=12.5, fontweight="bold")
    seen = set().union(*(seen for _, _, seen in tops))
    # Above the first panel's label.
    handles = window_handles(seen, any(curve["outages_s"] for curve in curves)) + paper
    place_legend(fig, axes[0], handles)
    axes[0].get_legend().set_bbox_to_anchor((0, 1.12))
    save(fig, stem)


def main():
    files = [Path(name) for name in sys.argv[1:]]
    if not files:
        sys.exit(__doc__)
    failures = []
    for file in files:
        for figure in json.loads(file.read_text())["figures"]:
            draw = draw_window if figure["kind"] == "window" else draw_sweep
            try:
                draw(figure, file.parent / figure["name"])
            except Exception as error:  # the other figures are still worth having
                what = str(error) or type(error).__name__
                failures.append(f"{file}: {figure['name']}: {what.splitlines()[0]}")
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
