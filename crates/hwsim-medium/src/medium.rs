// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Which attempts of a frame get through, who hears it, and what came of all of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use rand::RngCore;
use rand_pcg::Pcg64;
use serde_json::{Value, json};

use crate::frame::{Address, Frame, PACKET_BYTES};
use crate::message::Sent;

/// Packets that were given up and are looked out for; the oldest are forgotten.
const AWAITED_MOST: usize = 4096;
/// How long they are.
const AWAITED: Duration = Duration::from_secs(2);

/// What the air does.
#[derive(Debug, Clone, Copy)]
pub struct Air {
    /// Where the numbers begin by which attempts are lost.
    pub seed: u64,
    /// The share of attempts that are lost.
    pub loss: f64,
    /// Attempts at one frame.
    pub tries: u8,
}

/// What becomes of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fate {
    /// Radios that hear it.
    pub heard_by: Vec<Address>,
    /// Attempts that it took.
    pub attempts: u8,
    /// The last one was acknowledged.
    pub acked: bool,
}

/// What a radio's frames of data to one station came to.
#[derive(Debug, Default)]
struct Direction {
    frames: u64,
    attempts: u64,
    lost_attempts: u64,
    delivered: u64,
    given_up: u64,
    /// Frames of other kinds, which are not lost.
    other: u64,
    /// Frames to nobody who is there.
    nobody: u64,
    /// How long after a packet was given up the same packet came again.
    again_us: Vec<u64>,
}

struct Radio {
    random: Pcg64,
    counts: Direction,
    awaited: HashMap<[u8; PACKET_BYTES], Instant>,
}

impl Radio {
    /// Uniform in [0, 1); always takes one number.
    fn unit(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn look_out_for(&mut self, packet: [u8; PACKET_BYTES], now: Instant) {
        if self.awaited.len() >= AWAITED_MOST {
            self.awaited
                .retain(|_, given_up| now.duration_since(*given_up) < AWAITED);
        }
        if self.awaited.len() < AWAITED_MOST {
            self.awaited.insert(packet, now);
        }
    }

    fn recognise(&mut self, packet: &[u8; PACKET_BYTES], now: Instant) {
        if let Some(given_up) = self.awaited.remove(packet) {
            let after = now.duration_since(given_up);
            if after < AWAITED {
                self.counts.again_us.push(after.as_micros() as u64);
            }
        }
    }
}

/// The radios that were heard, and what is between them.
pub struct Medium {
    air: Air,
    radios: BTreeMap<Address, Radio>,
    /// By which radio a station was heard.
    stations: HashMap<Address, Address>,
}

impl Medium {
    /// An air without radios: they are known once they have sent something.
    pub fn new(air: Air) -> Self {
        Self {
            air,
            radios: BTreeMap::new(),
            stations: HashMap::new(),
        }
    }

    /// Decides about a frame.
    pub fn carry(&mut self, sent: &Sent, now: Instant) -> Fate {
        let nothing = Fate {
            heard_by: Vec::new(),
            attempts: 1,
            acked: false,
        };
        let Some(frame) = Frame::of(&sent.bytes) else {
            return nothing;
        };
        let air = self.air;
        self.meet(sent.radio);
        self.stations.insert(frame.transmitter(), sent.radio);
        let others: BTreeSet<Address> = self.radios.keys().copied().collect();
        let others = others.into_iter().filter(|radio| *radio != sent.radio);
        let to = self.stations.get(&frame.receiver()).copied();
        let radio = self.radios.get_mut(&sent.radio).expect("met above");
        if frame.for_many() {
            radio.counts.other += 1;
            return Fate {
                heard_by: others.collect(),
                ..nothing
            };
        }
        let Some(to) = to.filter(|to| *to != sent.radio) else {
            radio.counts.nobody += 1;
            return Fate {
                attempts: air.tries,
                ..nothing
            };
        };
        if !frame.has_data() || sent.no_ack {
            radio.counts.other += 1;
            return Fate {
                heard_by: vec![to],
                attempts: 1,
                acked: !sent.no_ack,
            };
        }
        radio.send_data(&frame, to, air, now)
    }

    /// A generator for each radio, so that what one sends doesn't shift the other's losses.
    fn meet(&mut self, address: Address) {
        let seed = u128::from(self.air.seed) << 64;
        self.radios.entry(address).or_insert_with(|| {
            let stream = address
                .iter()
                .fold(0, |all, byte| all << 8 | u128::from(*byte));
            Radio {
                random: Pcg64::new(seed | stream, stream),
                counts: Direction::default(),
                awaited: HashMap::new(),
            }
        });
    }

    /// What came of all frames so far.
    pub fn report(&mut self) -> Value {
        let radios = self.radios.iter_mut().map(|(address, radio)| {
            let name: Vec<String> = address.iter().map(|byte| format!("{byte:02x}")).collect();
            (name.join(":"), radio.counts.json())
        });
        json!({
            "seed": self.air.seed,
            "loss": self.air.loss,
            "tries": self.air.tries,
            "from": radios.collect::<serde_json::Map<_, _>>(),
        })
    }
}

impl Radio {
    fn send_data(&mut self, frame: &Frame<'_>, to: Address, air: Air, now: Instant) -> Fate {
        let packet = frame.packet();
        if let Some(packet) = &packet {
            self.recognise(packet, now);
        }
        let mut attempts = 0;
        let mut acked = false;
        while attempts < air.tries && !acked {
            attempts += 1;
            acked = self.unit() >= air.loss;
        }
        self.counts.frames += 1;
        self.counts.attempts += u64::from(attempts);
        self.counts.lost_attempts += u64::from(attempts) - u64::from(acked);
        if acked {
            self.counts.delivered += 1;
        } else {
            self.counts.given_up += 1;
            if let Some(packet) = packet {
                self.look_out_for(packet, now);
            }
        }
        Fate {
            heard_by: if acked { vec![to] } else { Vec::new() },
            attempts,
            acked,
        }
    }
}

impl Direction {
    fn json(&mut self) -> Value {
        self.again_us.sort_unstable();
        let again = &self.again_us;
        let quantile = |percent: usize| {
            let last = again.len().checked_sub(1)?;
            Some(again[last * percent / 100])
        };
        json!({
            "frames": self.frames,
            "attempts": self.attempts,
            "lost_attempts": self.lost_attempts,
            "delivered": self.delivered,
            "given_up": self.given_up,
            "other": self.other,
            "nobody": self.nobody,
            "again": again.len(),
            "again_median_us": quantile(50),
            "again_p90_us": quantile(90),
            "again_most_us": quantile(100),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::samples::{AP, STATION, beacon, data};
    use crate::message::samples;

    const AP_RADIO: Address = [0x42, 0, 0, 0, 0, 0];
    const STATION_RADIO: Address = [0x42, 0, 0, 0, 1, 0];

    fn sent(radio: Address, frame: Vec<u8>, flags: u32) -> Sent {
        Sent::of(&samples::sent(radio, frame, flags)).unwrap()
    }

    /// A medium that has heard both ends.
    fn medium(loss: f64, tries: u8) -> Medium {
        let mut medium = Medium::new(Air {
            seed: 1,
            loss,
            tries,
        });
        medium.carry(&sent(AP_RADIO, beacon(), 2), Instant::now());
        let hello = data(STATION, AP, &[0]);
        medium.carry(&sent(STATION_RADIO, hello, 1), Instant::now());
        medium
    }

    fn down(body: &[u8]) -> Sent {
        sent(AP_RADIO, data(AP, STATION, body), 1)
    }

    #[test]
    fn a_clear_air_carries_all() {
        let mut medium = medium(0.0, 4);
        let fate = medium.carry(&down(&[1]), Instant::now());
        assert_eq!(fate.heard_by, [STATION_RADIO]);
        assert!(fate.acked && fate.attempts == 1);
        let fate = medium.carry(&sent(AP_RADIO, beacon(), 2), Instant::now());
        assert_eq!(fate.heard_by, [STATION_RADIO]);
        assert!(!fate.acked);
    }

    #[test]
    fn a_wall_lets_management_through_only() {
        let mut medium = medium(1.0, 3);
        let fate = medium.carry(&down(&[1]), Instant::now());
        assert!(fate.heard_by.is_empty() && !fate.acked && fate.attempts == 3);
        let mut management = data(AP, STATION, &[]);
        management[0] = 0xb0; // authentication
        let fate = medium.carry(&sent(AP_RADIO, management, 1), Instant::now());
        assert!(fate.acked && fate.heard_by == [STATION_RADIO]);
        let report = medium.report();
        let counts = &report["from"]["42:00:00:00:00:00"];
        let told = ["frames", "attempts", "lost_attempts", "given_up", "other"];
        assert_eq!(
            told.map(|key| counts[key].as_u64().unwrap()),
            [1, 3, 3, 1, 2]
        );
    }

    #[test]
    fn who_is_not_there_does_not_answer() {
        let mut medium = medium(0.0, 2);
        let fate = medium.carry(&sent(AP_RADIO, data(AP, [4; 6], &[1]), 1), Instant::now());
        assert!(fate.heard_by.is_empty() && !fate.acked && fate.attempts == 2);
        let fate = medium.carry(&sent(AP_RADIO, vec![0; 5], 1), Instant::now());
        assert!(fate.heard_by.is_empty() && !fate.acked);
    }

    #[test]
    fn attempts_are_lost_at_the_rate_asked_for() {
        let mut medium = medium(0.3, 3);
        for _ in 0..20_000 {
            medium.carry(&down(&[1]), Instant::now());
        }
        let report = medium.report();
        let counts = &report["from"]["42:00:00:00:00:00"];
        let count = |key: &str| counts[key].as_f64().unwrap();
        let lost = count("lost_attempts") / count("attempts");
        assert!((lost - 0.3).abs() < 0.01, "{lost}");
        let given_up = count("given_up") / count("frames");
        assert!((given_up - 0.027).abs() < 0.004, "{given_up}");
        assert_eq!(count("delivered") + count("given_up"), count("frames"));
    }

    #[test]
    fn seeds_repeat_and_directions_do_not_disturb_each_other() {
        let fates = |medium: &mut Medium, between: bool| -> Vec<u8> {
            let up = sent(STATION_RADIO, data(STATION, AP, &[2]), 1);
            let each = |_| {
                if between {
                    medium.carry(&up, Instant::now());
                }
                medium.carry(&down(&[1]), Instant::now()).attempts
            };
            (0..50).map(each).collect()
        };
        let alone = fates(&mut medium(0.5, 5), false);
        assert_eq!(alone, fates(&mut medium(0.5, 5), true));
    }

    #[test]
    fn a_packet_that_comes_again_is_known_and_another_is_not() {
        let mut medium = medium(1.0, 1);
        let begin = Instant::now();
        medium.carry(&down(&[1, 2, 3]), begin);
        medium.carry(&down(&[1, 2, 4]), begin + Duration::from_micros(100));
        medium.carry(&down(&[1, 2, 3]), begin + Duration::from_micros(250));
        let report = medium.report();
        let counts = &report["from"]["42:00:00:00:00:00"];
        assert_eq!(
            (&counts["again"], &counts["again_most_us"]),
            (&json!(1), &json!(250))
        );
    }
}
