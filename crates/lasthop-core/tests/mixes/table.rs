// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `cargo test --release -p lasthop-core --test mixes table -- --ignored --nocapture`
//! prints the mixes with and without the agent. MIXES=NAME chooses.

use crate::case::{Case, Datagrams, FlowSpec, MS, Pages, SEC, Station};
use crate::lane::Discipline;
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
            show(
                &format!("one-{cc}-{loss}"),
                &Case::new(20.0, 110, 10, loss).flows(1, cc),
            );
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
                let name = format!("many-{n}-{cc}-{loss}");
                show(&name, &Case::new(20.0, 110, 10, loss).flows(n, cc));
            }
        }
    }
    for n in [400, 1000] {
        for loss in [0.0, 0.02] {
            let name = format!("crowd-{n}-cubic-{loss}");
            show(&name, &Case::new(20.0, 110, 10, loss).flows(n, "cubic"));
        }
    }
    for cc in ["cubic", "bbr"] {
        for loss in [0.0, 0.02] {
            let mut case = Case::new(20.0, 110, 10, loss);
            case.pages = Some(Pages {
                cc,
                loads: 8,
                objects: 40,
                connections: 6,
                least_bytes: 23e3,
                most_bytes: 140e3,
                keep_alive: true,
            });
            case.warmup_ns = 0;
            case.duration_ns = 200 * SEC;
            show(&format!("page-{cc}-{loss}"), &case);
        }
    }
    for fast in [100.0, 300.0] {
        for n in [1, 4] {
            for loss in [0.0, 0.02] {
                let mut case = Case::new(20.0, 40, 10, loss);
                case.stations = [5.0, fast]
                    .map(|m| Station {
                        bps: m * 1e6,
                        loss,
                        queue: (m * 8.0) as usize + 20,
                    })
                    .to_vec();
                for i in 0..2 * n {
                    case.flows.push(FlowSpec {
                        station: i % 2,
                        ..FlowSpec::default()
                    });
                }
                case.bps = (5.0 + fast) * 1e6;
                show(&format!("stations-5-{fast}-{n}-{loss}"), &case);
            }
        }
    }
    for loss in [0.0, 0.02] {
        let mut case = Case::new(20.0, 110, 10, loss).flows(1, "cubic");
        case.bps_up = 2e6;
        case.queue_up = 50;
        case.flows.push(FlowSpec {
            up: true,
            managed: false,
            measured: false,
            ..FlowSpec::default()
        });
        show(&format!("upload-{loss}"), &case);
    }
    for queue in [30, 110, 250] {
        for loss in [0.0, 0.02] {
            for cc in ["cubic", "bbr"] {
                let mut case = Case::new(20.0, 40, 10, loss).flows(1, "cubic");
                case.queue = queue * 20_000 / 8 / 1514;
                case.flows.push(FlowSpec {
                    cc,
                    managed: false,
                    ..FlowSpec::default()
                });
                show(&format!("beside-{cc}-{queue}-{loss}"), &case);
            }
            let mut case = Case::new(20.0, 40, 10, loss).flows(1, "cubic");
            case.queue = queue * 20_000 / 8 / 1514;
            case.datagrams.push(Datagrams {
                bps: 10e6,
                start_ns: 0,
                end_ns: 100 * SEC,
                station: 0,
            });
            show(&format!("beside-udp-{queue}-{loss}"), &case);
        }
    }
    for discipline in [Discipline::Codel, Discipline::FqCodel] {
        for cc in ["reno", "cubic"] {
            for loss in [0.0, 0.01, 0.05] {
                let mut case = Case::new(20.0, 110, 10, loss).flows(2, cc);
                case.discipline = discipline;
                case.queue = 1000;
                show(&format!("aqm-{discipline:?}-{cc}-{loss}"), &case);
            }
        }
    }
    for (rtt, local) in [(110, 100), (300, 250), (600, 560)] {
        for mbit in [5.0, 20.0] {
            for cc in CCS {
                for loss in [0.0, 0.01, 0.05] {
                    let mut case = Case::new(mbit, rtt, local, loss).flows(1, cc);
                    case.duration_ns = 40 * SEC;
                    case.warmup_ns = 10 * SEC;
                    show(&format!("long-{local}-{mbit}-{cc}-{loss}"), &case);
                }
            }
        }
    }
    for cc in CCS {
        for loss in [0.0, 0.02] {
            let mut case = Case::new(20.0, 110, 10, loss).flows(1, cc);
            case.wave = vec![(30e6, 2 * SEC), (10e6, 2 * SEC)];
            show(&format!("wave-{cc}-{loss}"), &case);
        }
    }
    for loss in [0.0, 0.02] {
        let mut case = Case::new(20.0, 110, 10, loss).flows(2, "cubic");
        let mut random = crate::wire::Random(5);
        let mut at = SEC;
        while at < 24 * SEC {
            at += (-random.unit().max(1e-9).ln() * 250.0 * MS as f64) as u64;
            let bytes = (10e3 * (random.unit() * 4.0).exp()) as u64;
            case.flows.push(FlowSpec {
                start_ns: at,
                bytes: Some(bytes),
                measured: false,
                mh_opens: true,
                ..FlowSpec::default()
            });
        }
        show(&format!("arrivals-{loss}"), &case);
    }
}
