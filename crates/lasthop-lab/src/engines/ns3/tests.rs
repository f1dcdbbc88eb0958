// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

use std::fs;

use super::*;
use crate::cell::engine::{Engine, TwoState};
use crate::data::arrivals::Arrivals;
use crate::engines;
use crate::studies::campaign::CompareLine;

fn parse(words: &str) -> CompareOptions {
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    CompareLine::parse(&words).unwrap()
}

fn refused(words: &str) -> String {
    format!("{:#}", engines::check_options(&parse(words)).unwrap_err())
}

/// The arguments of the first cell, joined.
fn words(options: &CompareOptions) -> String {
    let cell = &options.cells()[0];
    arguments::arguments(options, cell).unwrap().words.join(" ") + " "
}

#[test]
fn models_by_their_numbers() {
    let model: TwoState = "166,2.6,660ms,10ms".parse().unwrap();
    assert_eq!(model.to_string(), "166,2.6,660000000ns,10000000ns");
    // 0.66 s with one packet in 166, 0.01 s with one in 2.6.
    assert!((model.mean_loss() - 0.01167).abs() < 1e-5);
    for wrong in ["166,2.6,660ms", "0,1,1s,1s", "1,1,1,1s", "1,1,0s,1s"] {
        assert!(wrong.parse::<TwoState>().is_err(), "{wrong}");
    }
}

#[test]
fn each_engine_refuses_what_only_the_other_has() {
    for words in [
        "--outage 1s,1s",
        "--gro on",
        "--sysctl net.ipv4.tcp_sack=0",
        "--jitter 1ms",
        "--family 6",
        "--samples /tmp/x",
        "--flent /tmp/x.flent.gz",
        "--batch-up 10ms",
        "--ack-thin 2",
        "--sender bs",
        "--hops 2",
    ] {
        let said = refused(&format!("--engine ns3 {words}"));
        assert!(said.contains("--engine testbed has"), "{words}: {said}");
        assert!(engines::check_options(&parse(words)).is_ok(), "{words}");
    }
    for words in [
        "--two-state 1,1,1s,1s",
        "--attribute ns3::TcpSocket::DelAckCount=1",
    ] {
        let said = refused(words);
        assert!(said.contains("--engine ns3 has"), "{words}: {said}");
        let options = parse(&format!("--engine ns3 {words}"));
        assert!(engines::check_options(&options).is_ok(), "{words}");
    }
    let many = "--hosts 1000";
    assert!(refused(many).contains("--engine ns3"));
    let many = parse(&format!("--engine ns3 {many}"));
    assert!(engines::check_options(&many).is_ok());
    assert!(refused("--engine ns3 --cc prague").contains("newreno"));
    assert!(refused("--engine ns3 --scheme slakc").contains("slakc"));
    for small in [
        "--queue 1",
        "--queue-up 1",
        "--host-rate 1mbit --host-queue 1",
    ] {
        let said = refused(&format!("--engine ns3 {small}"));
        assert!(said.contains("2 packets"), "{small}: {said}");
    }
    let said = refused("--engine ns3 --neighbour prague");
    assert!(said.contains("prague"), "{said}");
}

#[test]
fn the_link_in_words_of_the_simulator() {
    let options = parse(
        "--engine ns3 --rate 2mbit --rtt 202ms --local-rtt 2ms --queue 50 --wired-rate 10mbit \
         --loss 0% --cc newreno --mss 1000 --profile vintage --seed 7 --scheme none \
         --attribute ns3::TcpSocket::DelAckCount=1,ns3::TcpSocketBase::MinRto=1s",
    );
    let words = words(&options);
    for word in [
        "--RngRun=7",
        "--rate=2000000bps",
        "--delay=1000000ns",
        "--wiredDelay=100000000ns",
        "--queue=50",
        "--cc=ns3::TcpNewReno",
        "--ns3::TcpSocketBase::Sack=false",
        "--ns3::TcpSocket::SegmentSize=1000",
        "--ns3::TcpSocket::InitialCwnd=2",
        "--ns3::TcpSocket::DelAckCount=1",
    ] {
        assert!(words.contains(&format!("{word} ")), "{word}: {words}");
    }
    assert!(!words.contains("--lost"));
    // The last one counts.
    let (profile, given) = ("MinRto=500000000ns", "MinRto=1s");
    assert!(words.find(profile).unwrap() < words.find(given).unwrap());
}

#[test]
fn the_return_path_and_the_discipline_in_words() {
    let options = parse(
        "--engine ns3 --rate-up 2mbit --queue-up 30 --aqm fq-codel --direction both --loss 0%",
    );
    let words = words(&options);
    for word in [
        "--rate=20000000bps",
        "--rateUp=2000000bps",
        "--queue=181",
        "--queueUp=30",
        "--aqm=fq-codel",
        "--direction=both",
    ] {
        assert!(words.contains(&format!("{word} ")), "{word}: {words}");
    }
}

#[test]
fn a_medium_and_its_ends_in_words() {
    let options = parse(
        "--engine ns3 --mac 802.11b,tries=1,rate=5.5,idle_watts=0 --loss 0% --scheme csnoop \
         --agents both",
    );
    engines::check_options(&options).unwrap();
    let words = words(&options);
    for word in [
        "--mac=802.11b",
        "--macTries=1",
        "--macRate=5.5",
        "--sendWatts=0.6",
        "--receiveWatts=0.3",
        "--idleWatts=0",
        "--agents=both",
    ] {
        assert!(words.contains(&format!("{word} ")), "{word}: {words}");
    }
}

#[test]
fn what_its_wifi_cannot_do_is_refused() {
    for (words, what) in [
        ("--mac 802.11b,policy=no_ack", "policy"),
        ("--mac 802.11a,policy=block_ack_each", "policy"),
        ("--mac 802.11b,basic_rate=1", "basic_rate"),
        (
            "--mac 802.11b,rate=11,basic_rate=2,preamble=short",
            "basic_rate",
        ),
        ("--mac 802.11b,loss_per=packet", "loss_per"),
        ("--mac 802.11b,control_loss=1%", "control_loss"),
        ("--mac 802.11b,txop=2ms", "txop"),
        ("--mac 802.11b,cw_min=15", "cw_min"),
        ("--mac 802.11b --queue 2", "3 packets"),
        ("--scheme csnoop", "--mac 802.11b"),
        ("--mac 802.11b --scheme snack --agents both", "messages"),
        ("--host-rate 1mbit --agents mobile", "--agents"),
    ] {
        let said = refused(&format!("--engine ns3 {words}"));
        assert!(
            said.contains(what) && !said.contains('\n'),
            "{words}: {said}"
        );
    }
    for words in [
        "--mac 802.11b,tries=1,loss_per=packet",
        "--mac 802.11g --scheme snack",
        "--mac 802.11a --hosts 3 --agents mobile --scheme none,csnoop,snoop --direction up",
    ] {
        let options = parse(&format!("--engine ns3 {words}"));
        assert!(engines::check_options(&options).is_ok(), "{words}");
    }
}

#[test]
fn windows_are_what_path_and_queue_can_use() {
    let window = |more: &str| {
        let words = words(&parse(&format!(
            "--engine ns3 --loss 0% --scheme none {more}"
        )));
        let (_, rest) = words.split_once("ns3::TcpSocket::RcvBufSize=").unwrap();
        rest.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    // 20 Mbit/s × 110 ms / 8, and 181 frames.
    assert_eq!(window(""), 2 * (275_000 + 181 * 1514));
    assert_eq!(window("--host-rate 5mbit,20mbit --flows 2"), window(""));
    assert_eq!(window("--rate 100kbit"), 65_535);
    assert_eq!(window("--rate 1gbit"), 4 << 20);
    assert_eq!(window("--rcv-window 100000"), 100_000);
    assert_eq!(window("--profile vintage"), 65_535);
}

/// What the file of an argument says, as long as `arguments` lives.
fn file_of(arguments: &arguments::Arguments, name: &str) -> Option<String> {
    let prefix = format!("--{name}=");
    let mut words = arguments.words.iter();
    let path = words.find_map(|word| word.strip_prefix(&prefix))?;
    Some(fs::read_to_string(path).unwrap())
}

#[test]
fn hosts_with_links_of_their_own_are_in_a_file() {
    let options = parse(
        "--engine ns3 --hosts 3 --flows 3 --host-rate 5mbit,300mbit --host-loss 1%,0% \
         --host-queue bdp,7 --rate-up 1mbit --loss-up 3%",
    );
    engines::check_options(&options).unwrap();
    let arguments = arguments::arguments(&options, &options.cells()[0]).unwrap();
    // 5 Mbit/s × 110 ms / 8 / 1514, and the least for 1 Mbit/s.
    // The window is twice what fits into path and queue.
    let slow_window = 2 * (68_750 + 45 * 1514);
    let slow = format!("5000000bps 1000000bps 45 20 0.01 0.03 {slow_window}\n");
    let fast = "300000000bps 1000000bps 7 7 0 0.03 4194304\n";
    let file = file_of(&arguments, "hostLinks").unwrap();
    assert_eq!(file, format!("{slow}{fast}{slow}"));
    assert_eq!(file_of(&arguments, "lost"), None);
    let words = arguments.words.join(" ");
    assert!(!words.contains("--rate="), "{words}");
}

#[test]
fn what_goes_beside_is_that_of_the_test_bed() {
    let options = parse(
        "--engine ns3 --neighbour cubic,1s,2s;udp:3mbit,4s --arrivals 4/s --arrival-sizes 9kB \
         --warmup 1s --duration 9s --seed 7",
    );
    engines::check_options(&options).unwrap();
    let arguments = arguments::arguments(&options, &options.cells()[0]).unwrap();
    let words = arguments.words.join(" ");
    let neighbours = "--neighbours=ns3::TcpCubic,1000000000ns,2000000000ns,\
                      3000000bps,4000000000ns,10000000000ns ";
    assert!(words.contains(neighbours), "{words}");
    let beside = &options.beside;
    let end = options.longest_cell();
    let drawn = Arrivals::draw(beside.arrivals.unwrap(), beside.arrival_sizes, end, 7);
    let file = file_of(&arguments, "arrivals").unwrap();
    let first = format!("{} 9000", drawn.starts[0].as_nanos());
    assert_eq!(file.lines().next(), Some(first.as_str()));
    assert_eq!(file.lines().count(), drawn.starts.len());
}

#[test]
fn it_loses_the_frames_that_the_test_bed_does() {
    let options = parse("--engine ns3 --loss 2% --loss-up 0% --rate 2mbit --scheme none --seed 3");
    let arguments = arguments::arguments(&options, &options.cells()[0]).unwrap();
    let file = arguments
        .words
        .iter()
        .find_map(|w| w.strip_prefix("--lost="));
    let text = fs::read_to_string(file.unwrap()).unwrap();
    let numbers: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
    let config = linkemu::DirectionConfig {
        loss: 0.02,
        rate_bps: 0,
        ..Default::default()
    };
    let mut link = linkemu::LinkModel::new(&config, 3, linkemu::Direction::AToB);
    let mut lost = Vec::new();
    for number in 0..10_000u64 {
        let meta = linkemu::FrameMeta {
            bytes: 60,
            lossy: true,
            tcp_data: true,
            flow: None,
        };
        link.push(meta, number, number);
        while let Some(exit) = link.pop_due(number) {
            if exit.fate == linkemu::Fate::Lost {
                lost.push(exit.token);
            }
        }
    }
    assert!(lost.len() > 100);
    assert_eq!(numbers[..lost.len()], lost[..]);
    assert!(!words(&options).contains("--lostUp="));
}

#[test]
fn the_agents_configuration_becomes_attributes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("agent.toml");
    let with = |text: &str| {
        fs::write(&path, text).unwrap();
        let options = format!(
            "--engine ns3 --scheme snoop --agent-config {}",
            path.display()
        );
        let options = parse(&options);
        let cell = &options.cells()[0];
        arguments::arguments(&options, cell).map(|arguments| arguments.words.join(" "))
    };
    let words = with("profile = \"ns2\"\nns2_tick = \"25ms\"\nqueue_guard = false\n").unwrap();
    for attribute in [
        "RttProfile=ns2",
        "DupThresh=2",
        "QueueGuard=false",
        "Ns2Tick=25000000ns",
        "FlowSegments=100",
    ] {
        let word = format!("--ns3::LasthopAgent::{attribute}");
        assert!(words.contains(&word), "{attribute}: {words}");
    }
    // What the file says counts, even where it is the kernel host's default and not the module's.
    let words = with("suppress = \"auto\"\nrto_min = \"200ms\"\n").unwrap();
    assert!(words.contains("LasthopAgent::Suppress=auto"), "{words}");
    assert!(
        words.ends_with("LasthopAgent::RtoMin=200000000ns"),
        "{words}"
    );
    let said = with("priority = 3\n").unwrap_err().to_string();
    assert!(said.contains("no attributes"), "{said}");
    // The sender's least timeout is known.
    assert_eq!(with("").unwrap().matches("LasthopAgent").count(), 1);
}

/// A run of two flows, to two hosts or one.
fn raw() -> Raw {
    let raw = r#"{"measured_ns":2000000000,"received_bytes":[250000,750000],"uploaded_bytes":500000,
        "completion_ns":[null,null],"content_ok":true,"failed":0,"ns3":"3.44","segments":1000,"retransmits":10,
        "timeouts":1,"link_lost":20,"queue_dropped":3,"aqm_dropped":4,"aqm_marked":5,
        "samples":[
        {"at_ns":4900000000,"received_bytes":[0,0],"rtt_us":[900000,900000],
            "neighbours_received_bytes":[0,0],"neighbours_rtt_us":[0,0]},
        {"at_ns":6000000000,"received_bytes":[125000,375000],"rtt_us":[110000,120000],
            "neighbours_received_bytes":[125000,0],"neighbours_rtt_us":[140000,0]},
        {"at_ns":7000000000,"received_bytes":[250000,750000],"rtt_us":[0,130000],
            "neighbours_received_bytes":[250000,125000],"neighbours_rtt_us":[0,0]}],
        "events":5000,"cpu_s":0.5,"agent_memory_bytes":4096,
        "agent":{"local_retransmits":19,"suppressed_acks":7},
        "arrivals_ns":[[1000000000,9000000],[5500000000,20000000],[6500000000,30000000]]}"#;
    serde_json::from_str(raw).unwrap()
}

#[test]
fn a_record_has_what_was_counted() {
    let raw = raw();
    let options = parse("--engine ns3 --scheme rack --cc cubic --flows 2 --hosts 2");
    let outcome = record::outcome(&options, &options.cells()[0], &raw);
    let record = &outcome.record;
    assert!(outcome.failure.is_none() && record.content_ok);
    assert_eq!((record.engine, record.hosts), (Engine::Ns3, 2));
    assert_eq!(record.goodput_mbit, 4.0);
    assert_eq!(record.flow_goodputs_mbit, [1.0, 3.0]);
    assert_eq!(record.host_goodput_mbit, [1.0, 3.0]);
    assert_eq!(record.host_bound_mbit[0], record.host_bound_mbit[1]);
    assert!((record.host_bound_mbit[0] * 2.0 - record.bound_mbit).abs() < 0.002);
    assert_eq!(record.sender_retransmit_share, Some(0.01));
    assert_eq!(record.local_retransmits, Some(19));
    assert_eq!(record.rtt_p50_ms, Some(120.0));
    assert_eq!(record.host_rtt_p95_ms, [Some(110.0), Some(130.0)]);
    assert_eq!((record.aqm_dropped, record.aqm_marked), (Some(4), Some(5)));
    assert_eq!(record.up_goodput_mbit, None);
    assert_eq!(record.agent_memory_bytes, Some(4096));
    assert_eq!(record.events_per_s, Some(10_000));
    // 20 Mbit/s × 0.98 × 1448 / 1502.
    assert!((record.bound_mbit - 18.895).abs() < 0.01);
    assert_eq!(record.completion_ms, None);
    let options = parse("--engine ns3 --scheme rack --cc cubic --flows 2 --bytes 1MB");
    let outcome = record::outcome(&options, &options.cells()[0], &raw);
    assert!(outcome.failure.unwrap().contains("deadline"));
    let given_up = Raw { failed: 1, ..raw };
    let outcome = record::outcome(&options, &options.cells()[0], &given_up);
    assert!(!outcome.record.content_ok && outcome.failure.unwrap().contains("given up"));
}

#[test]
fn a_record_of_a_medium_has_energy() {
    let mut raw = raw();
    let options = parse("--engine ns3 --mac 802.11b --loss 0% --scheme none --duration 2s");
    let cell = &options.cells()[0];
    let without = record::outcome(&options, cell, &raw).record;
    assert_eq!(without.energy, Default::default());
    raw.radios = serde_json::from_str(
        r#"[{"energy_uj":2500000,"given_up":7},{"energy_uj":2000000,"given_up":8}]"#,
    )
    .unwrap();
    let record = record::outcome(&options, cell, &raw).record;
    assert_eq!(record.energy.base_energy_j, Some(2.5));
    assert_eq!(record.energy.goodput_per_energy, Some(2000.0));
    assert_eq!((without.link_lost, record.link_lost), (20, 7));
    // Of 1514 bytes each, with an Ethernet header, which is how the medium's rate is told.
    let capacity_mbit = options.link.mac.as_ref().unwrap().capacity_bps() as f64 / 1e6;
    assert!((record.bound_mbit - capacity_mbit * 1448.0 / 1514.0).abs() < 0.01);
}

#[test]
fn a_record_of_links_both_ways_and_of_what_is_beside() {
    let outcome = |words: &str| {
        let options = parse(&format!(
            "--engine ns3 --scheme rack --cc cubic --flows 2 {words}"
        ));
        engines::check_options(&options).unwrap();
        record::outcome(&options, &options.cells()[0], &raw()).record
    };
    let own = outcome("--host-rate 1mbit,9mbit --host-loss 0%,10% --duration 2s");
    assert_eq!((own.rate_mbit, own.loss_pct), (10.0, 5.0));
    let ratio = own.host_bound_mbit[1] / own.host_bound_mbit[0];
    assert!((ratio / 8.1 - 1.0).abs() < 0.01, "{ratio}");
    assert!(own.host_efficiency[0] > own.host_efficiency[1]);
    let both = outcome("--direction both --rate-up 4mbit --loss 0% --duration 2s");
    assert_eq!(both.up_goodput_mbit, Some(2.0));
    // 4 Mbit/s × 1448 / 1502.
    assert!((both.up_bound_mbit.unwrap() - 3.856).abs() < 0.01);
    let up = outcome("--direction up --rate-up 4mbit --queue-up 9 --loss-up 1% --duration 2s");
    assert_eq!((up.rate_mbit, up.queue_pkts, up.loss_pct), (4.0, 9, 1.0));
    let beside = outcome(
        "--arrivals 1/s --neighbour bbr,5s,7s --neighbour udp:1mbit,6s,7s --warmup 5s --duration 2s",
    );
    let figures = &beside.beside;
    // The first one came in the warm-up.
    assert_eq!(
        (figures.arrivals, figures.arrival_p95_ms),
        (Some(2), Some(30.0))
    );
    assert_eq!(
        figures.neighbour_goodputs_mbit.as_ref().unwrap()[1],
        Some(1.0)
    );
    assert_eq!(figures.neighbour_rtt_p95_ms, Some(140.0));
}
