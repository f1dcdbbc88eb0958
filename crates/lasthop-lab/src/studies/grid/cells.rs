// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Which cells the grid has, how they are called, and the `compare` command line of each.

use std::path::Path;

/// Frame loss in percent, both directions.
pub const LOSSES_PCT: [f64; 8] = [0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0];
/// Unloaded round trips, of which [`LOCAL_RTT`] lies on the lossy hop.
pub const RTTS_MS: [u32; 5] = [20, 60, 110, 200, 400];
/// Congestion controls.
pub const CCS: [&str; 3] = ["reno", "cubic", "bbr"];
/// Rates besides the centre's; they are run at the centre's round trip only.
pub const OTHER_RATES_MBIT: [u32; 2] = [5, 100];
/// The centre, from which each variant changes one thing.
pub const CENTRE_RATE_MBIT: u32 = 20;
/// Round trip of the centre.
pub const CENTRE_RTT_MS: u32 = 110;
/// Losses at which the variants are run.
pub const VARIANT_LOSSES_PCT: [f64; 2] = [0.0, 2.0];
/// Name of the grid proper among the variants.
pub const BASE: &str = "base";
const LOCAL_RTT: &str = "10ms";
/// Stands for the file of `--trace`.
const TRACE: &str = "TRACE";

/// A change of one thing.
#[derive(Debug, Clone, Copy)]
pub struct Variant {
    /// First part of its cells' names.
    pub name: &'static str,
    /// What it asks, for the documentation.
    pub about: &'static str,
    rate_mbit: u32,
    args: &'static [&'static str],
}

const fn variant(
    name: &'static str,
    about: &'static str,
    args: &'static [&'static str],
) -> Variant {
    Variant {
        name,
        about,
        rate_mbit: CENTRE_RATE_MBIT,
        args,
    }
}

impl Variant {
    /// What it adds to the command line of `compare`, for the documentation.
    pub fn options(&self) -> String {
        let args = self.args.join(" ");
        if self.rate_mbit == CENTRE_RATE_MBIT {
            args
        } else {
            format!("--rate {}mbit {args}", self.rate_mbit)
        }
    }
}

/// All variants but [`BASE`].
pub const VARIANTS: [Variant; 10] = [
    variant("queue-20", "a shallow queue", &["--queue", "20"]),
    variant(
        "queue-100",
        "half a bandwidth-delay product",
        &["--queue", "100"],
    ),
    variant("queue-1000", "bufferbloat", &["--queue", "1000"]),
    variant(
        "batch-10ms",
        "the hop delivers in batches, as Wi-Fi and LTE do",
        &["--batch", "10ms"],
    ),
    variant("jitter-5ms", "the hop's delay varies", &["--jitter", "5ms"]),
    variant(
        "wave",
        "the rate jumps between 30 and 10 Mbit/s every 2 s",
        &["--rate-wave", "30mbit,10mbit,2s"],
    ),
    variant("lte", "the rate follows a trace", &["--rate-trace", TRACE]),
    Variant {
        // 10 Mbit/s × 110 ms / 1514 bytes: one bandwidth-delay product, as at the hop.
        args: &["--wired-rate", "10mbit", "--wired-queue", "90"],
        rate_mbit: 100,
        ..variant(
            "wired",
            "the bottleneck, of 10 Mbit/s, lies before the agent",
            &[],
        )
    },
    variant("mh-opens", "the mobile host connects", &["--opener", "mh"]),
    variant(
        "up-beside-down",
        "an upload's data fill the way of the download's ACKs",
        &["--direction", "both"],
    ),
];

/// One point of the grid, to be run with each scheme and seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// [`BASE`] or the name of a variant.
    pub variant: &'static str,
    /// Rate of the lossy hop.
    pub rate_mbit: u32,
    /// Unloaded round trip.
    pub rtt_ms: u32,
    /// Frame loss, both directions.
    pub loss_pct: f64,
    /// Congestion control.
    pub cc: &'static str,
    args: &'static [&'static str],
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct GridCell {
    /// Where in the grid.
    pub place: Place,
    /// Scheme of the agent, or `none`.
    pub scheme: String,
    /// Seed of losses and content.
    pub seed: u64,
}

impl Place {
    fn base(rate_mbit: u32, rtt_ms: u32, loss_pct: f64, cc: &'static str) -> Self {
        Self {
            variant: BASE,
            rate_mbit,
            rtt_ms,
            loss_pct,
            cc,
            args: &[],
        }
    }

    fn of(variant: &'static Variant, loss_pct: f64, cc: &'static str) -> Self {
        Self {
            variant: variant.name,
            args: variant.args,
            ..Self::base(variant.rate_mbit, CENTRE_RTT_MS, loss_pct, cc)
        }
    }

    /// Name that stays the same: `base/20mbit/110ms/2%/reno`.
    pub fn name(&self) -> String {
        format!(
            "{}/{}mbit/{}ms/{}%/{}",
            self.variant, self.rate_mbit, self.rtt_ms, self.loss_pct, self.cc
        )
    }

    /// Whether it needs the file of `--trace`.
    pub fn needs_trace(&self) -> bool {
        self.args.contains(&TRACE)
    }

    /// Its link and traffic as options of `compare`.
    pub fn link_args(&self, trace: &Path) -> Vec<String> {
        let mut args = vec![
            "--rate".to_owned(),
            format!("{}mbit", self.rate_mbit),
            "--rtt".to_owned(),
            format!("{}ms", self.rtt_ms),
            "--local-rtt".to_owned(),
            LOCAL_RTT.to_owned(),
            "--loss".to_owned(),
            format!("{}%", self.loss_pct),
        ];
        args.extend(self.args.iter().map(|arg| match *arg {
            TRACE => trace.display().to_string(),
            other => other.to_owned(),
        }));
        args
    }
}

impl GridCell {
    /// Name that stays the same: `base/20mbit/110ms/2%/reno/rack/1`.
    pub fn name(&self) -> String {
        format!("{}/{}/{}", self.place.name(), self.scheme, self.seed)
    }
}

/// Every place of the grid.
pub fn full() -> Vec<Place> {
    let mut places = Vec::new();
    let mut add_base = |rate_mbit, rtt_ms| {
        for loss_pct in LOSSES_PCT {
            places.extend(CCS.map(|cc| Place::base(rate_mbit, rtt_ms, loss_pct, cc)));
        }
    };
    for rtt_ms in RTTS_MS {
        add_base(CENTRE_RATE_MBIT, rtt_ms);
    }
    for rate_mbit in OTHER_RATES_MBIT {
        add_base(rate_mbit, CENTRE_RTT_MS);
    }
    for variant in &VARIANTS {
        for loss_pct in VARIANT_LOSSES_PCT {
            places.extend(CCS.map(|cc| Place::of(variant, loss_pct, cc)));
        }
    }
    places
}

/// The most telling places: harm without loss (a loss-based sender, and BBR before a shallow
/// queue), help at the centre for each congestion control, the worst loss, the longest path, the
/// highest rate.
pub fn quick() -> Vec<Place> {
    const NAMES: [&str; 8] = [
        "base/20mbit/110ms/0%/cubic",
        "queue-20/20mbit/110ms/0%/bbr",
        "base/20mbit/110ms/2%/reno",
        "base/20mbit/110ms/2%/cubic",
        "base/20mbit/110ms/2%/bbr",
        "base/20mbit/110ms/20%/cubic",
        "base/20mbit/400ms/2%/reno",
        "base/100mbit/110ms/1%/cubic",
    ];
    let is_quick = |place: &Place| NAMES.contains(&place.name().as_str());
    full().into_iter().filter(is_quick).collect()
}

/// Every place with every seed and scheme. Seed by seed, so that a run that is stopped early has
/// seen the whole grid once; the schemes of one place and seed follow each other, so that both
/// meet the same machine.
pub fn cells(places: &[Place], seeds: &[u64], schemes: &[String]) -> Vec<GridCell> {
    let mut cells = Vec::new();
    for seed in seeds {
        for place in places {
            cells.extend(schemes.iter().map(|scheme| GridCell {
                place: place.clone(),
                scheme: scheme.clone(),
                seed: *seed,
            }));
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn counts() {
        // (5 RTTs + 2 rates) × 8 losses × 3, and 10 variants × 2 losses × 3.
        assert_eq!(full().len(), 168 + 60);
        assert_eq!(quick().len(), 8);
        let schemes = ["none".to_owned(), "rack".to_owned()];
        assert_eq!(cells(&full(), &[1, 2, 3], &schemes).len(), 1368);
        assert_eq!(cells(&quick(), &[1], &schemes).len(), 16);
    }

    #[test]
    fn names_are_unique_and_tell_everything() {
        let cells = cells(&full(), &[1, 2], &["none".into(), "rack".into()]);
        let names: HashSet<String> = cells.iter().map(GridCell::name).collect();
        assert_eq!(names.len(), cells.len());
        assert!(names.contains("base/5mbit/110ms/0.1%/reno/rack/1"));
        assert!(names.contains("wired/100mbit/110ms/2%/bbr/none/2"));
    }

    #[test]
    fn schemes_stand_side_by_side_and_seeds_follow_each_other() {
        let cells = cells(&quick(), &[1, 2], &["none".into(), "rack".into()]);
        assert_eq!(cells[0].place, cells[1].place);
        assert!(cells[..16].iter().all(|cell| cell.seed == 1));
    }

    #[test]
    fn the_trace_takes_its_place() {
        let lte = full().into_iter().find(Place::needs_trace).unwrap();
        assert_eq!(lte.variant, "lte");
        let args = lte.link_args(Path::new("/a/b.trace")).join(" ");
        assert_eq!(
            args,
            "--rate 20mbit --rtt 110ms --local-rtt 10ms --loss 0% --rate-trace /a/b.trace"
        );
    }
}
