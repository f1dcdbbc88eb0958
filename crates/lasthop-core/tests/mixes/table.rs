// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `cargo test --release -p lasthop-core --test mixes table -- --ignored --nocapture`
//! prints the mixes with and without the agent. MIXES=NAME chooses.

use crate::case::Case;
use crate::lane::Discipline;
use crate::mixes::{
    arrivals, beside_datagrams, beside_flow, link, long_hop, longer, managed, page, stations,
    upload, wave,
};
use crate::run;

const CCS: [&str; 3] = ["reno", "cubic", "bbr"];

fn wanted(name: &str) -> bool {
    std::env::var("MIXES").map_or(true, |only| only.split(',').any(|o| name.starts_with(o)))
}

fn show(name: &str, case: &Case) {
    if !wanted(name) {
        return;
    }
    let only = std::env::var("SCHEMES").unwrap_or_else(|_| "none,rack".into());
    for scheme in only.split(',') {
        let mut case = case.clone();
        if let Ok(seed) = std::env::var("SEED") {
            case.seed = seed.parse().expect("a number");
        }
        if let Some(brake) = scheme.strip_prefix("snack") {
            case = case.with_ends(lasthop_core::Config {
                brake: u32::from(brake.starts_with("-brake")),
                sack_mask: u32::from(brake.ends_with("-mask")),
                queue_guard: u32::from(brake != "-bare"),
                ..lasthop_core::Config::snack()
            });
        }
        if scheme == "rack" {
            let mut config = lasthop_core::Config::default();
            let set = |name: &str, to: &mut u32| {
                if let Ok(v) = std::env::var(name) {
                    *to = v.parse().expect("a number");
                }
            };
            set("SUPPRESS", &mut config.suppress);
            set("CLOCK", &mut config.clock);
            set("GUARD", &mut config.queue_guard);
            if let Ok(us) = std::env::var("TARGET_US") {
                config.target_ns = 1_000 * us.parse::<u64>().expect("a number");
            }
            case = case.with_config(config);
        }
        let began = std::time::Instant::now();
        let r = run(&case);
        let pages = match r.page_ms.is_empty() {
            true => String::new(),
            false => format!(" page {:.0}", r.page_median_ms()),
        };
        let each: String = match r.flows.len() {
            2..=4 => r
                .flows
                .iter()
                .map(|f| format!(" [{:.2} {:.0}/{:.0}]", f.mbit, f.rtt_p50_ms, f.rtt_p95_ms))
                .collect(),
            _ => String::new(),
        };
        let done = match r.flows.iter().filter(|f| f.completion_ms.is_some()).count() {
            0 => String::new(),
            n => format!(
                " done {n} p50 {:.0} p95 {:.0}",
                r.completions(0.5),
                r.completions(0.95)
            ),
        };
        println!(
            "{name:28} {scheme:5} {}{pages}{each}{done} ({:.1} s)",
            r.line(),
            began.elapsed().as_secs_f64()
        );
        if std::env::var_os("COUNTERS").is_some() {
            println!("#   {:?}", r.counters);
        }
    }
}

#[test]
#[ignore = "prints a table"]
fn table() {
    for cc in CCS {
        for loss in [0.0, 0.02] {
            show(&format!("one-{cc}-{loss}"), &link(loss).flows(1, cc));
        }
    }
    for loss in [0.0, 0.001, 0.01, 0.02, 0.03, 0.05] {
        for rtt in [20, 40, 110] {
            for n in [1, 4] {
                let case = Case::new(50.0, rtt, 10, loss).flows(n, "cubic");
                show(&format!("hop-{rtt}-{n}-{loss}"), &case);
            }
        }
    }
    for rtt in [20, 110, 200, 400] {
        for cc in CCS {
            for loss in [0.001, 0.01, 0.05, 0.2] {
                let case = Case::new(20.0, rtt, 10, loss).flows(1, cc);
                show(&format!("grid-{rtt}-{cc}-{loss}"), &case);
            }
        }
    }
    for n in [8, 20, 50, 100] {
        for cc in CCS {
            for loss in [0.0, 0.02] {
                let case = link(loss).flows(n, cc);
                show(&format!("many-{n}-{cc}-{loss}"), &case);
                show(&format!("once-{n}-{cc}-{loss}"), &case.at_once());
            }
        }
    }
    for n in [400, 1000] {
        for loss in [0.0, 0.02] {
            let name = format!("crowd-{n}-cubic-{loss}");
            show(&name, &link(loss).flows(n, "cubic"));
        }
    }
    for cc in ["cubic", "bbr"] {
        for loss in [0.0, 0.02] {
            show(&format!("page-{cc}-{loss}"), &page(cc, loss));
        }
    }
    for fast in [100.0, 300.0] {
        for n in [1, 4] {
            for loss in [0.0, 0.02] {
                let name = format!("stations-5-{fast}-{n}-{loss}");
                show(&name, &stations(fast, n, loss));
            }
        }
    }
    for loss in [0.0, 0.02] {
        show(&format!("upload-{loss}"), &upload(loss));
    }
    for queue in [30, 110, 250] {
        for loss in [0.0, 0.02] {
            for cc in ["cubic", "bbr"] {
                let name = format!("beside-{cc}-{queue}-{loss}");
                show(&name, &beside_flow(cc, queue, loss));
            }
            let name = format!("beside-udp-{queue}-{loss}");
            show(&name, &beside_datagrams(queue, loss));
        }
    }
    for discipline in [Discipline::Codel, Discipline::FqCodel] {
        for cc in ["reno", "cubic"] {
            for loss in [0.0, 0.01, 0.05] {
                let name = format!("aqm-{discipline:?}-{cc}-{loss}");
                show(&name, &managed(discipline, cc, loss));
            }
        }
    }
    for (rtt, local) in [(110, 100), (300, 250), (600, 560)] {
        for mbit in [5.0, 20.0] {
            for cc in CCS {
                for loss in [0.0, 0.01, 0.05] {
                    let name = format!("long-{local}-{mbit}-{cc}-{loss}");
                    show(&name, &long_hop(mbit, rtt, local, cc, loss));
                }
            }
        }
    }
    for n in [1, 8] {
        for cc in CCS {
            for loss in [0.0, 0.01] {
                let name = format!("longer-{n}-{cc}-{loss}");
                show(&name, &longer(n, cc, loss));
            }
        }
    }
    for cc in CCS {
        for loss in [0.0, 0.02] {
            show(&format!("wave-{cc}-{loss}"), &wave(cc, loss));
        }
    }
    for loss in [0.0, 0.02] {
        show(&format!("arrivals-{loss}"), &arrivals(loss));
    }
}
