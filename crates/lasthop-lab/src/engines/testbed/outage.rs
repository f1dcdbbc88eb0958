// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the first outage within the measured time did to the transfer, from its samples.

use crate::bed::transfer::Moment;
use crate::bed::transfer::sockets::CaState;
use crate::data::link::LinkOptions;
use crate::data::outage::Outage;

/// Over this time the goodput before the outage is taken.
const BEFORE_NS: u64 = 2_000_000_000;
/// Part of it that counts as having recovered.
const RECOVERED: f64 = 0.9;
/// The least time over which the goodput after the outage is taken.
const LEAST_WINDOW_NS: u64 = 500_000_000;

/// Figures of one outage; none where there is nothing to say. Times are since the outage's
/// beginning or end, windows in segments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutageFigures {
    /// Congestion window in the last sample before the outage.
    pub cwnd_before: Option<u32>,
    /// The least from its beginning until the goodput has recovered, or until the samples end.
    pub cwnd_least: Option<u32>,
    /// Congestion window in the first sample after the outage in which the sender is in state
    /// open and everything that it had sent by the outage's end is acknowledged. Less would not
    /// do: a timeout that the kernel takes back looks open for a moment, with the old window,
    /// before the losses are found.
    pub cwnd_left: Option<u32>,
    /// From the beginning to the first byte read after the end.
    pub pause_ns: Option<u64>,
    /// From the end until the goodput over a window that begins then is what it was.
    pub recovery_ns: Option<u64>,
}

impl OutageFigures {
    /// Share of the congestion window that the outage left.
    pub fn cwnd_kept(&self) -> Option<f64> {
        let before = self.cwnd_before.filter(|before| *before > 0)?;
        Some(f64::from(self.cwnd_left?) / f64::from(before))
    }
}

/// The samples of a transfer, as far as the outage goes.
struct Span<'a> {
    start_ns: u64,
    end_ns: u64,
    /// Before the outage begins.
    before: &'a [Moment],
    /// From the outage's beginning on.
    since: &'a [Moment],
    /// From its end on.
    after: &'a [Moment],
    /// The last look before its end: what MH has read and FH has sent by then.
    at_end: &'a Moment,
}

/// Figures of the first outage that begins within `measured_ns`. They end with the measured time,
/// or when the next outage begins.
pub fn figures(
    moments: &[Moment],
    link: &LinkOptions,
    measured_ns: (u64, u64),
    one_connection: bool,
) -> OutageFigures {
    let figures = link
        .outage
        .and_then(|outage| Span::first(moments, outage, measured_ns))
        .map(|span| span.figures(window_ns(link), one_connection));
    figures.unwrap_or_default()
}

/// Two round trips of the slowest flow: a shorter time shows its bursts.
fn window_ns(link: &LinkOptions) -> u64 {
    let flow_rtt_ns = link.variation.flow_rtt_ns.iter().copied().max();
    LEAST_WINDOW_NS.max(2 * flow_rtt_ns.unwrap_or(0).max(link.rtt_ns))
}

impl<'a> Span<'a> {
    /// None if no outage begins in time, or nobody looked between one's beginning and end.
    fn first(moments: &'a [Moment], outage: Outage, measured_ns: (u64, u64)) -> Option<Self> {
        let (from_ns, to_ns) = measured_ns;
        let mut intervals_ns = outage.intervals_ns(to_ns);
        let (start_ns, end_ns) = intervals_ns.find(|(start_ns, _)| *start_ns >= from_ns)?;
        let next_ns = intervals_ns.next().map_or(to_ns, |(next_ns, _)| next_ns);
        let index_of = |ns: u64| moments.partition_point(|moment| moment.at_ns < ns);
        // The last moment is that of the measured time's own end.
        let past = moments.partition_point(|moment| moment.at_ns <= next_ns);
        let (start, end) = (index_of(start_ns), index_of(end_ns).min(past));
        Some(Self {
            start_ns,
            end_ns,
            before: &moments[..start.min(past)],
            since: &moments[start.min(past)..past],
            after: &moments[end..past],
            at_end: moments[..end].last()?,
        })
    }

    fn figures(&self, window_ns: u64, one_connection: bool) -> OutageFigures {
        let recovery_ns = self.recovery_ns(window_ns);
        let of_sender = |cwnd: Option<u32>| cwnd.filter(|_| one_connection);
        OutageFigures {
            cwnd_before: of_sender(self.before.last().and_then(cwnd)),
            cwnd_least: of_sender(self.cwnd_least(recovery_ns)),
            cwnd_left: of_sender(self.cwnd_left()),
            pause_ns: self.pause_ns(),
            recovery_ns,
        }
    }

    fn cwnd_least(&self, recovery_ns: Option<u64>) -> Option<u32> {
        let until_ns = recovery_ns.map_or(u64::MAX, |recovery_ns| self.end_ns + recovery_ns);
        let during = self.since.iter().take_while(|m| m.at_ns <= until_ns);
        during.filter_map(cwnd).min()
    }

    fn cwnd_left(&self) -> Option<u32> {
        let sent_bytes = (*self.at_end.senders.first()?)?.sent_bytes;
        let mut senders = self.after.iter().filter_map(|m| *m.senders.first()?);
        let settled = senders.find(|s| s.ca_state == CaState::Open && s.acked_bytes >= sent_bytes);
        settled.map(|sender| sender.cwnd_segments)
    }

    fn pause_ns(&self) -> Option<u64> {
        let had_bytes = self.at_end.total_bytes();
        let next = self.after.iter().find(|m| m.total_bytes() > had_bytes)?;
        Some(next.at_ns - self.start_ns)
    }

    /// Goodput in bytes per nanosecond before the outage; none if there was none.
    fn rate_before(&self) -> Option<f64> {
        let last = self.before.last()?;
        let from_ns = self.start_ns.saturating_sub(BEFORE_NS);
        let first = self.before.iter().find(|m| m.at_ns >= from_ns)?;
        let bytes = last.total_bytes() - first.total_bytes();
        let span_ns = last.at_ns - first.at_ns;
        (bytes > 0).then(|| bytes as f64 / span_ns as f64)
    }

    fn recovery_ns(&self, window_ns: u64) -> Option<u64> {
        let wanted = RECOVERED * self.rate_before()?;
        // Nothing arrives during the outage, so its end has the bytes of the look before it.
        let at_end = (self.end_ns, self.at_end.total_bytes());
        let after = self.after.iter().map(|m| (m.at_ns, m.total_bytes()));
        let begins = std::iter::once(at_end).chain(after);
        for (from_ns, from_bytes) in begins {
            let to = self
                .after
                .partition_point(|m| m.at_ns < from_ns + window_ns);
            let to = self.after.get(to)?;
            let bytes = to.total_bytes() - from_bytes;
            if bytes as f64 >= wanted * (to.at_ns - from_ns) as f64 {
                return Some(from_ns - self.end_ns);
            }
        }
        None
    }
}

fn cwnd(moment: &Moment) -> Option<u32> {
    let sender = (*moment.senders.first()?)?;
    Some(sender.cwnd_segments)
}

#[cfg(test)]
#[path = "outage_tests.rs"]
mod tests;
