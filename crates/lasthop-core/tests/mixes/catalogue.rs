// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Every mix of the tables, by name.

use crate::case::Case;
use crate::lane::Discipline;
use crate::mixes::{
    BROWSED, PIECES, RECEIVERS, arrivals, beside_datagrams, beside_flow, beside_upload, browse,
    call, carries, detours, liars, link, long_hop, longer, managed, moved, narrow, one_by_one,
    page, pieces, policed, policed_fades, policed_page, roams, sealed, short, slow, stations,
    strides, unsteady, upload, wave,
};
use crate::wire::Carries;

const CCS: [&str; 3] = ["reno", "cubic", "bbr"];

/// Hands out what MIXES names (the beginnings of names, with commas between), or all.
pub fn each(show: impl FnMut(&str, &Case)) {
    let only = std::env::var("MIXES").ok();
    each_of(only.as_deref(), show);
}

/// A word that begins no name would leave its mixes out without a sign.
fn each_of(only: Option<&str>, mut show: impl FnMut(&str, &Case)) {
    let words: Vec<&str> = only.map_or(vec![""], |only| only.split(',').collect());
    for word in &words {
        let mut begins = false;
        all(&mut |name, _| begins |= name.starts_with(word));
        assert!(begins, "MIXES: no mix begins with {word}");
    }
    all(&mut |name, case| {
        if words.iter().any(|word| name.starts_with(word)) {
            show(name, case);
        }
    });
}

#[test]
fn what_is_named_is_there() {
    let count = |only: Option<&str>| {
        let mut n = 0;
        each_of(only, |_, _| n += 1);
        n
    };
    assert!(count(None) > 100);
    assert_eq!(count(Some("one-cubic-0,one-reno-0.02")), 3);
    assert!(std::panic::catch_unwind(|| count(Some("one,ome"))).is_err());
}

fn all(show: &mut dyn FnMut(&str, &Case)) {
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
            for loss in [0.001, 0.01, 0.05, 0.1, 0.2] {
                let case = Case::new(20.0, rtt, 10, loss).flows(1, cc);
                show(&format!("grid-{rtt}-{cc}-{loss}"), &case);
            }
        }
    }
    for (rtt, local) in [(200, 10), (300, 250)] {
        for n in [2, 4] {
            for cc in CCS {
                for loss in [0.0, 0.01, 0.05] {
                    let case = Case::new(20.0, rtt, local, loss).flows(n, cc);
                    show(&format!("far-{local}-{n}-{cc}-{loss}"), &case);
                }
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
    for queue in [3, 10, 30] {
        for n in [1, 4] {
            for cc in CCS {
                for loss in [0.0, 0.01] {
                    let case = short(queue, loss).flows(n, cc);
                    show(&format!("short-{queue}-{n}-{cc}-{loss}"), &case);
                }
            }
        }
    }
    for burst_ms in [10, 50, 200] {
        for cc in ["cubic", "bbr"] {
            for loss in [0.0, 0.01] {
                let name = format!("policed-page-{burst_ms}-{cc}-{loss}");
                show(&name, &policed_page(burst_ms, cc, loss));
            }
        }
        for n in [1, 4] {
            let name = format!("policed-fades-{burst_ms}-{n}");
            show(&name, &policed_fades(burst_ms, n));
        }
        for n in [1, 4, 20] {
            for cc in CCS {
                for loss in [0.0, 0.01] {
                    let name = format!("policed-{burst_ms}-{n}-{cc}-{loss}");
                    show(&name, &policed(burst_ms, loss).flows(n, cc));
                }
            }
        }
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
    for cc in CCS {
        for n in [1, 4] {
            for loss in [0.01, 0.05] {
                let case = sealed(link(loss).flows(n, cc));
                show(&format!("sealed-110-{n}-{cc}-{loss}"), &case);
                let case = sealed(Case::new(20.0, 40, 10, loss).flows(n, cc));
                show(&format!("sealed-40-{n}-{cc}-{loss}"), &case);
            }
        }
    }
    for discipline in [Discipline::Fifo, Discipline::Codel] {
        for loss in [0.0, 0.0004, 0.01] {
            show(
                &format!("call-{discipline:?}-{loss}"),
                &call(discipline, loss),
            );
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
                let case = longer(n, cc, loss);
                show(&format!("longer-{n}-{cc}-{loss}"), &case);
                show(&format!("longer-one-{n}-{cc}-{loss}"), &one_by_one(case));
            }
        }
    }
    for n in [1, 8] {
        for cc in CCS {
            for loss in [0.001, 0.01, 0.05] {
                show(&format!("roams-{n}-{cc}-{loss}"), &roams(n, cc, loss));
            }
        }
    }
    for cc in CCS {
        for loss in [0.0, 0.02] {
            show(&format!("wave-{cc}-{loss}"), &wave(cc, loss));
        }
    }
    for (n, delack) in [(1, 40), (4, 40), (10, 40), (20, 40), (10, 100), (20, 100)] {
        for cc in CCS {
            for loss in [0.0, 0.001, 0.01] {
                let case = strides(n, cc, delack, loss);
                show(&format!("strides-{n}-{delack}-{cc}-{loss}"), &case);
            }
        }
    }
    carried(show);
    thin(show);
    browsed(show);
    lied_to(show);
    for loss in [0.0, 0.02] {
        show(&format!("arrivals-{loss}"), &arrivals(loss));
    }
    for cc in CCS {
        for loss in [0.0, 0.01, 0.05] {
            for (name, case) in unsteady(cc, loss) {
                show(&format!("{name}-{cc}-{loss}"), &case);
            }
        }
    }
}

/// What comes back is more than ACKs, and what goes out does not come in order.
fn carried(show: &mut dyn FnMut(&str, &Case)) {
    for cc in CCS {
        for loss in [0.0, 0.01, 0.05] {
            let with = [
                ("payload", Carries::Payload(300)),
                ("option", Carries::Option),
            ];
            for (name, what) in with {
                show(&format!("{name}-{cc}-{loss}"), &carries(what, cc, loss));
            }
            for (ms, share) in [(8, 0.02), (18, 0.02), (15, 0.2)] {
                let case = detours(ms, share, cc, loss);
                show(&format!("detours-{ms}-{share}-{cc}-{loss}"), &case);
            }
        }
    }
}

/// Receivers whose addresses others share.
fn lied_to(show: &mut dyn FnMut(&str, &Case)) {
    for way in [(40, 20), (60, 30), (110, 100)] {
        for n in [1, 8, 20] {
            for cc in ["reno", "cubic"] {
                for loss in [0.0, 0.02] {
                    let name = format!("liars-{n}-{}-{cc}-{loss}", way.1);
                    show(&name, &liars(n, way, cc, loss));
                }
            }
        }
    }
}

/// Pages on several ways, alone and beside an upload.
fn browsed(show: &mut dyn FnMut(&str, &Case)) {
    for way in BROWSED {
        for cc in ["cubic", "bbr"] {
            for loss in [0.0, 0.002, 0.02] {
                let (mbit, rtt, local) = way;
                let name = format!("{mbit}-{rtt}-{local}-{cc}-{loss}");
                let case = browse(way, cc, loss);
                show(&format!("browse-{name}"), &case);
                show(&format!("busy-{name}"), &beside_upload(case));
            }
        }
    }
}

/// Pieces, also over a hop that becomes longer, and links on which every segment takes long.
fn thin(show: &mut dyn FnMut(&str, &Case)) {
    for (receiver, ..) in RECEIVERS {
        for (bytes, every_ms) in PIECES {
            for loss in [0.0, 0.01, 0.05] {
                let what = format!("{receiver}-{bytes}-{every_ms}-{loss}");
                for (rtt, local) in [(110, 10), (40, 20)] {
                    let case = pieces(rtt, local, receiver, (bytes, every_ms), loss);
                    show(&format!("pieces-{rtt}-{what}"), &case);
                }
                let case = moved(pieces(110, 10, receiver, (bytes, every_ms), loss));
                show(&format!("moved-{what}"), &case);
            }
        }
    }
    for mbit in [0.5, 1.0] {
        for n in [1, 4] {
            for cc in CCS {
                for loss in [0.0, 0.01, 0.05] {
                    show(
                        &format!("slow-{mbit}-{n}-{cc}-{loss}"),
                        &slow(mbit, n, cc, loss),
                    );
                }
            }
        }
    }
    for n in [3, 8, 20] {
        for cc in CCS {
            for loss in [0.0, 0.02] {
                show(&format!("narrow-{n}-{cc}-{loss}"), &narrow(n, cc, loss));
            }
        }
    }
}
