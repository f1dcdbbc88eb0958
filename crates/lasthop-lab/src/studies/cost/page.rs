// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The page about what the agent costs.

use maud::{Markup, html};

use super::chart::panels;
use super::curves;
use super::lines::{Line, Machine, Packet};
use super::model::{Checked, Model, NAMES, Path};
use super::ports::{Need, PORTS};
use super::table::{Cell, cells};
use crate::studies::report::number::number;
use crate::studies::report::range::tick_number;
use crate::studies::report::shell::{self, columns, day, scrolling};

const TITLE: &str = "lasthop: cost as it grows";

/// The page.
pub fn page(packets: &[Packet], lines: &[Line], model: &Model, needs: &[Need]) -> String {
    let header = html! {
        h1 { (TITLE) }
        (origin(lines, model))
    };
    let main = html! {
        (section("cores", "What a port takes", &ports(model, needs)))
        (section("packets", "Time of a packet in the programs", &html! {
            p {
                "Scheme " code { "rack" } ", one flow unless flows are what grows; kernel's time of a run "
                "(BPF_PROG_TEST_RUN) less that of a packet that the program leaves at once. The yardstick "
                "copies and parses the headers, looks the connection up, and does nothing else. Losses: means, "
                "the rest medians. Rules are asked when a connection is new, and never again."
            }
            (panels(&curves::packets(packets, model)))
        }))
        (section("forwarding", "Processor time per Gbit of forwarding", &forwarding(lines)))
        (section("model", "The model", &of_model(model)))
        @let skipped = skipped(packets, lines);
        @if !skipped.is_empty() {
            (section("skipped", "Not measured here", &html! { ul { @for one in &skipped { li { (one) } } } }))
        }
        (section("repeat", "Repeat it", &html! {
            pre { code { "sudo make bench-report OUT=results/bench" } }
            p.note {
                "Beside this page: " code { "packet.jsonl" } ", " code { "forwarding.jsonl" } ", "
                code { "model.json" } "."
            }
        }))
    };
    shell::document(TITLE, &header, &main)
}

fn section(id: &str, title: &str, content: &Markup) -> Markup {
    html! { section aria-labelledby=(id) { h2 #(id) { (title) } (content) } }
}

fn machine(lines: &[Line]) -> Machine {
    let found = lines.iter().find_map(|line| match line {
        Line::Machine(machine) => Some(machine.clone()),
        _ => None,
    });
    found.unwrap_or_default()
}

fn origin(lines: &[Line], model: &Model) -> Markup {
    let machine = machine(lines);
    let [data, ack] = model.yardstick;
    html! {
        dl.origin {
            dt { "Measured" } dd { (day(machine.started_s)) }
            dt { "Kernel" } dd { "Linux " (machine.kernel) }
            dt { "Processors" } dd { (machine.cpus) " × " (machine.processor) ", load " (machine.load) " before" }
            dt { "Revision" } dd { (machine.revision) }
            dt { "Yardstick" } dd { "data " (number(data)) " ns, ACK " (number(ack)) " ns" }
            dt { "Model" } dd { "off by " (percent(model.worst)) " at the most" }
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0).replace('-', "−")
}

fn ports(model: &Model, needs: &[Need]) -> Markup {
    let mut heads = ["Downlink full of", "Data, ns", "ACK, ns"]
        .map(str::to_owned)
        .to_vec();
    heads.extend(PORTS.map(|gbit| format!("{gbit} Gbit/s")));
    heads.push("Gbit/s per core".to_owned());
    let table = html! {
        table {
            (columns(heads))
            tbody { @for need in needs { tr {
                th scope="row" { (need.mix) }
                td.number { (number(need.data_ns.round())) }
                td.number { (number(need.ack_ns.round())) }
                @for cores in need.cores { td.number { (format!("{cores:.2}")) } }
                td.number { (number(need.gbit_per_core)) }
            } } }
        }
    };
    html! {
        p {
            "Cores like this machine's that the agent's programs take, by the model, beside what forwarding "
            "takes by itself. A device's queues spread connections over cores; one connection is on one core "
            "at a time, so that the last column is also the most that one can get. That n cores do n times "
            "the work of one is assumed, not measured."
        }
        (scrolling("What a port takes", &table))
        p.note {
            "Segments of 1,448 bytes unless said, with 90 bytes beside them on the wire. On another machine: "
            "times its yardstick (" code { "base_ns" } " of the first line that "
            code { "cargo bench -p lasthop --bench packet -- grow flows" } " prints) through "
            (number(model.yardstick[0])) " ns. A new connection: " (number(model.syn[0])) " ns, and "
            (number(model.syn[1])) " ns for each rule."
        }
    }
}

fn forwarding(lines: &[Line]) -> Markup {
    let rows = cells(lines, "gro");
    let others = rows.iter().map(|cell| cell.others).fold(0.0, f64::max);
    let table = html! {
        table {
            (columns(["GRO", "At the base station", "Gbit/s", "CPU s per Gbit", "More than nobody"]))
            tbody { @for cell in &rows { tr {
                th scope="row" { (if cell.x > 0.0 { "on" } else { "off" }) }
                td { (helper(&cell.helper)) }
                td.number { (number(cell.gbit_s)) }
                td.number { (number(cell.s_per_gbit)) }
                td.number { (share(cell)) }
            } } }
        }
    };
    html! {
        p {
            "Three hosts in a row in network namespaces, veth between them, no emulator; one CUBIC download "
            "by iperf3. Processor time is the whole machine's (" code { "/proc/stat" } "), less that of processes "
            "that have nothing to do with it (at most " (percent(others)) " of it here): so it holds the sender, "
            "the receiver and all forwarding. What the agent, or what is in its place, adds is the difference "
            "to nobody in the same round, which the last column has: median, least and most."
        }
        (scrolling("Forwarding", &table))
        (panels(&curves::forwarding(lines)))
    }
}

fn helper(name: &str) -> String {
    match name {
        "none" => "nobody".to_owned(),
        "rack" => "agent, scheme rack".to_owned(),
        "split" => "lasthop split, a proxy".to_owned(),
        "passthrough" => "a netfilter queue (NFQUEUE)".to_owned(),
        other => other.to_owned(),
    }
}

fn share(cell: &Cell) -> Markup {
    let Some([middle, least, most]) = cell.share else {
        return html! { "–" };
    };
    html! { (number(middle)) " " span.interval { (number(least)) " to " (number(most)) } }
}

fn of_model(model: &Model) -> Markup {
    let terms = html! {
        table {
            (columns(["Term, ns", "Data", "ACK"]))
            tbody { @for (at, name) in NAMES.iter().enumerate() { tr {
                th scope="row" { (name) }
                @for terms in [&model.data, &model.ack] { td.number { (number(terms.ns[at])) } }
            } } }
        }
    };
    html! {
        p {
            "A packet takes the sum of these, each at least 0, by least squares of the relative errors. Of "
            "f flows the share (f − 1)/(f − 1 + h) of the sixth term: h = "
            (number(model.data.half_flows)) " for data, " (number(model.ack.half_flows)) " for ACKs. Of "
            "a share p of losses p times the seventh, and 1 − (1 − p)" sup { "10" } " times the last: in the "
            "benchmark ten segments come between a loss and its repair. For an ACK “segment” is one that it "
            "acknowledges."
        }
        (scrolling("Terms", &terms))
        p { "The largest error is " (percent(model.worst)) ", of " (model.points.len()) " points that were measured:" }
        details {
            summary { "All of them" }
            (scrolling("Points", &points(&model.points)))
        }
    }
}

fn points(points: &[Checked]) -> Markup {
    html! {
        table {
            (columns(["Point", "Path", "Measured, ns", "Model, ns", "Error"]))
            tbody { @for point in points { tr {
                th scope="row" { (point.axis) " " (tick_number(point.x)) }
                td { (if point.path == Path::Data { "data" } else { "ACK" }) }
                td.number { (number(point.ns)) }
                td.number { (number(point.model_ns)) }
                td.number { (percent(point.error)) }
            } } }
        }
    }
}

/// With reasons.
fn skipped(packets: &[Packet], lines: &[Line]) -> Vec<String> {
    let of_packet = |packet: &Packet| {
        let why = packet.skipped.as_ref()?;
        Some(format!("{} {}: {why}", packet.axis, packet.x))
    };
    let of_line = |line: &Line| match line {
        Line::Skipped(skipped) => Some(format!("{}: {}", skipped.what, skipped.why)),
        _ => None,
    };
    let packets = packets.iter().filter_map(of_packet);
    packets.chain(lines.iter().filter_map(of_line)).collect()
}
