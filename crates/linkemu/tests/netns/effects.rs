// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Effects that change the order or the rhythm of frames, with real ones.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use crate::lab::{EAST_IP, Lab};

/// Sends numbered datagrams all at once and returns the numbers in the order of their arrival,
/// once the relay has passed all of them on.
fn numbers_through(lab: &Lab, count: u32) -> Vec<u32> {
    let (west, east) = lab.udp_pair();
    let receiver = std::thread::spawn(move || receive(&east, count));
    for number in 0..count {
        let mut payload = [0; 1000];
        payload[..4].copy_from_slice(&number.to_le_bytes());
        west.send(&payload).unwrap();
    }
    receiver.join().unwrap()
}

fn receive(socket: &UdpSocket, count: u32) -> Vec<u32> {
    let mut buffer = [0; 1000];
    let mut next = |_| {
        socket.recv(&mut buffer).expect("every datagram arrives");
        u32::from_le_bytes(buffer[..4].try_into().unwrap())
    };
    (0..count).map(&mut next).collect()
}

#[test]
fn reordered_frames_are_overtaken_and_none_is_missing() {
    const FRAMES: u32 = 500;
    // 0.42 ms a frame; those on the detour are overtaken by a dozen.
    let link =
        r#"{"rate_bps":20000000,"queue_frames":1000,"reorder":0.1,"reorder_delay_ns":5000000}"#;
    let Some(lab) = Lab::with_relay(link, "{}") else {
        return;
    };
    let numbers = numbers_through(&lab, FRAMES);
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..FRAMES).collect::<Vec<_>>());
    let mut newest = 0;
    let overtaken = numbers.iter().filter(|number| {
        newest = newest.max(**number);
        **number < newest
    });
    let overtaken = overtaken.count();
    assert!((20..=80).contains(&overtaken), "{overtaken} of 500");
}

#[test]
fn jitter_and_batches_keep_the_order() {
    let link =
        r#"{"rate_bps":50000000,"queue_frames":1000,"jitter_ns":3000000,"batch_ns":4000000}"#;
    let Some(lab) = Lab::with_relay(link, "{}") else {
        return;
    };
    assert_eq!(numbers_through(&lab, 500), (0..500).collect::<Vec<_>>());
}

#[test]
fn a_trace_from_a_file_is_never_faster_than_it_says() {
    const FRAMES: u32 = 21;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("slow.trace");
    std::fs::write(&path, "5\n10\n").unwrap();
    let link = format!(r#"{{"rate_trace":{path:?},"queue_frames":1000}}"#);
    let Some(lab) = Lab::with_relay(&link, "{}") else {
        return;
    };
    let begin = Instant::now();
    let numbers = numbers_through(&lab, FRAMES);
    assert_eq!(numbers, (0..FRAMES).collect::<Vec<_>>());
    // 21 frames of 1032 bytes, as mahimahi counts them, need 15 opportunities of 1504: between
    // the first and the last of these lie 14 times 5 ms.
    let elapsed = begin.elapsed();
    assert!(elapsed >= Duration::from_millis(14 * 5), "{elapsed:?}");
}

#[test]
fn connections_have_delays_of_their_own() {
    const DELAYS: &str = r#"{"flow_delays_ns":[0,60000000,120000000]}"#;
    let Some(lab) = Lab::with_relay(DELAYS, "{}") else {
        return;
    };
    let listener = lab
        .east
        .enter(|| TcpListener::bind((EAST_IP, 7003)).unwrap());
    let connect = || {
        let begin = Instant::now();
        let stream = lab
            .west
            .enter(|| TcpStream::connect((EAST_IP, 7003)).unwrap());
        (begin.elapsed(), stream)
    };
    // All stay open, so that each has a port of its own.
    let connections: Vec<_> = (0..6).map(|_| connect()).collect();
    for (number, (elapsed, _)) in connections.iter().enumerate() {
        let least = Duration::from_millis(60 * (number as u64 % 3));
        assert!(*elapsed >= least, "connection {number}: {elapsed:?}");
    }
    // Those without a delay of their own do not wait for the others'.
    let fastest = |a: usize, b: usize| connections[a].0.min(connections[b].0);
    assert!(fastest(0, 3) < fastest(2, 5), "{connections:?}");
    drop(listener);
}
