#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes a synthetic trace of an LTE-like downlink in mahimahi's format.

Synthetic: nothing here was measured. The rate wanders as a radio link's does,
slowly between about 3 and 40 Mbit/s and from one 10 ms to the next, with fades
of 100 to 500 ms every few seconds in which hardly anything gets through. The
numbers were chosen to look like published cellular traces, not fitted to any.

Format: a time in milliseconds per line, each an opportunity to send 1504 bytes
(a full packet); the last time is the length after which the trace starts again.

    experiments/traces/lte.py > lte.trace

`lasthop-lab grid` runs it for its variant lte.

The same seed gives the same file on every machine (only random.random() is
used, whose numbers Python guarantees; sums are rounded far above their error).
"""

import argparse
import math
import random
import sys

OPPORTUNITY_BITS = 1504 * 8
STEP_MS = 10
LEAST_MBIT, MOST_MBIT = 3.0, 40.0
CENTRE_MBIT = 16.0
# The logarithm of the rate returns to its centre within this time ...
RETURN_MS = 2500.0
# ... from excursions of this standard deviation.
SPREAD = 0.7
FADE_EVERY_MS = 5000.0
FADE_MS = (100.0, 500.0)
# What a fade leaves of the rate.
FADE_SHARE = 0.02


def normal(rng):
    """Roughly Gaussian: the sum of twelve uniform numbers, with variance 1."""
    return sum(rng.random() for _ in range(12)) - 6.0


def rates_mbit(rng, length_ms):
    """One rate per STEP_MS: an Ornstein-Uhlenbeck walk of the logarithm, and fades."""
    pull = STEP_MS / RETURN_MS
    kick = SPREAD * math.sqrt(2.0 * pull)
    excursion, fade_left_ms = 0.0, 0.0
    for _ in range(length_ms // STEP_MS):
        excursion += kick * normal(rng) - pull * excursion
        rate = min(max(CENTRE_MBIT * math.exp(excursion), LEAST_MBIT), MOST_MBIT)
        if fade_left_ms <= 0.0 and rng.random() < STEP_MS / FADE_EVERY_MS:
            fade_left_ms = FADE_MS[0] + (FADE_MS[1] - FADE_MS[0]) * rng.random()
        yield round(rate * (FADE_SHARE if fade_left_ms > 0.0 else 1.0), 3)
        fade_left_ms -= STEP_MS


def opportunities_ms(rates):
    """A time for every full packet that the rates have room for."""
    now_ms, bits = 0, 0.0
    for rate in rates:
        for _ in range(STEP_MS):
            now_ms += 1
            bits = round(bits + rate * 1000.0, 3)
            while bits >= OPPORTUNITY_BITS:
                bits -= OPPORTUNITY_BITS
                yield now_ms


def summary(times, rates, length_ms):
    """One line about the trace: whether it is what the text above says."""
    mean = len(times) * OPPORTUNITY_BITS / (length_ms * 1000.0)
    fades = [rate < LEAST_MBIT / 2 for rate in rates]
    begun = sum(now and not before for before, now in zip([False] + fades, fades))
    clear = [rate for rate, faded in zip(rates, fades) if not faded]
    return (
        f"{length_ms / 1000:.0f} s, {len(times)} opportunities, mean {mean:.1f} Mbit/s, "
        f"{min(clear):.1f} to {max(clear):.1f} Mbit/s outside of {begun} fades, "
        f"which take {100.0 * sum(fades) / len(fades):.1f} % of the time"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=3, help="another trace [3]")
    parser.add_argument("--seconds", type=int, default=60, help="length [60]")
    options = parser.parse_args()
    if options.seconds < 1:
        parser.error("--seconds must be at least 1")
    length_ms = options.seconds * 1000
    rates = list(rates_mbit(random.Random(options.seed), length_ms))
    times = list(opportunities_ms(rates))
    # The last line is the period, whether or not a packet fits there.
    if times[-1] != length_ms:
        times.append(length_ms)
    sys.stdout.write("".join(f"{time}\n" for time in times))
    print(summary(times, rates, length_ms), file=sys.stderr)


if __name__ == "__main__":
    main()
