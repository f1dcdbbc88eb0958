// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `hwsim-medium`: registers with mac80211_hwsim, carries frames until SIGINT or SIGTERM, and prints
//! what came of them.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use clap::Parser;
use hwsim_medium::frame;
use hwsim_medium::medium::{Air, Medium};
use hwsim_medium::message::{Hwsim, Sent};
use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_core::{NetlinkDeserializable, NetlinkHeader, NetlinkSerializable};
use netlink_packet_generic::ctrl::nlas::GenlCtrlAttrs;
use netlink_packet_generic::ctrl::{GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlMessage};
use netlink_sys::protocols::NETLINK_GENERIC;
use netlink_sys::{Socket, SocketAddr};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{setsockopt, sockopt};

/// Messages are read whole; frames have less than 4 KiB.
const MESSAGE_BYTES: usize = 64 << 10;
/// What may wait for us: a window of every connection.
const QUEUE_BYTES: usize = 16 << 20;

/// Medium for the radios of mac80211_hwsim that loses data frames by seed
///
/// Prints a line once it serves, and counters as a line of JSON at SIGINT or SIGTERM. Management and
/// multicast are never lost.
#[derive(Parser)]
#[command(
    version,
    after_help = "Example:\n  modprobe mac80211_hwsim radios=2\n  hwsim-medium --loss 0.3 --tries 3 --seed 7\n\n\
Counters, per radio that sent: frames (of data to one station), attempts, lost_attempts, delivered,\n\
given_up; other (management, multicast), nobody (to a station that was not heard), again (packets that\n\
were given up and came again as they were within 2 s) and how long after: median, 90 %, most."
)]
struct Cli {
    /// Share of the attempts at a unicast data frame that are lost
    #[arg(long, default_value_t = 0.0, value_parser = share)]
    loss: f64,
    /// Attempts at a frame, before it is given up
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..))]
    tries: u8,
    /// Where the numbers begin by which attempts are lost
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn share(text: &str) -> Result<f64> {
    let share: f64 = text.parse()?;
    if !(0.0..=1.0).contains(&share) {
        bail!("a share between 0 and 1 is wanted");
    }
    Ok(share)
}

/// The way to the kernel.
struct Line {
    socket: Socket,
    family: u16,
}

fn encoded<T: NetlinkSerializable>(payload: T, flags: u16) -> Vec<u8> {
    let mut message = NetlinkMessage::new(
        NetlinkHeader::default(),
        NetlinkPayload::InnerMessage(payload),
    );
    message.header.flags = NLM_F_REQUEST | flags;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// What `take` finds first in what is read of the socket. The kernel's refusal is an error.
fn answer<T, V>(socket: &Socket, take: impl Fn(NetlinkPayload<T>) -> Option<V>) -> Result<V>
where
    T: NetlinkDeserializable,
{
    let mut bytes = vec![0; MESSAGE_BYTES];
    loop {
        let length = socket.recv(&mut &mut bytes[..], 0)?;
        let message = NetlinkMessage::<T>::deserialize(&bytes[..length]).context("netlink")?;
        match message.payload {
            NetlinkPayload::Error(error) if error.code.is_some() => {
                return Err(anyhow!(error.to_io()));
            }
            payload => {
                if let Some(value) = take(payload) {
                    return Ok(value);
                }
            }
        }
    }
}

/// The number by which the kernel knows the family.
fn family_id(socket: &Socket) -> Result<u16> {
    let ask = GenlMessage::from_payload(GenlCtrl {
        cmd: GenlCtrlCmd::GetFamily,
        nlas: vec![GenlCtrlAttrs::FamilyName(Hwsim::family_name().into())],
    });
    socket.send(&encoded(ask, 0), 0)?;
    answer(socket, |payload: NetlinkPayload<GenlMessage<GenlCtrl>>| {
        let NetlinkPayload::InnerMessage(message) = payload else {
            return None;
        };
        message.payload.nlas.iter().find_map(|nla| match nla {
            GenlCtrlAttrs::FamilyId(id) => Some(*id),
            _ => None,
        })
    })
}

impl Line {
    fn open() -> Result<Self> {
        let mut socket = Socket::new(NETLINK_GENERIC).context("generic netlink")?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        setsockopt(&socket, sockopt::RcvBufForce, &QUEUE_BYTES).context("room for frames")?;
        let family = family_id(&socket)
            .context("no family MAC80211_HWSIM: is the module mac80211_hwsim loaded?")?;
        let line = Self { socket, family };
        line.send([Hwsim::register()], NLM_F_ACK)?;
        answer(
            &line.socket,
            |payload: NetlinkPayload<GenlMessage<Hwsim>>| {
                matches!(payload, NetlinkPayload::Error(_)).then_some(())
            },
        )
        .context("registering as the medium")?;
        Ok(line)
    }

    /// All in one system call: what is heard and what became of it belong together.
    fn send(&self, messages: impl IntoIterator<Item = Hwsim>, flags: u16) -> Result<()> {
        let encode = |message| {
            let mut message = GenlMessage::from_payload(message);
            message.set_resolved_family_id(self.family);
            encoded(message, flags)
        };
        let bytes: Vec<u8> = messages.into_iter().flat_map(encode).collect();
        self.socket.send(&bytes, 0)?;
        Ok(())
    }

    /// A frame, if one has come. The kernel's complaint about an answer (the radio is off, or has
    /// forgotten the frame) is none.
    fn next(&self, bytes: &mut [u8]) -> Result<Option<Sent>> {
        let length = match self.socket.recv(&mut &mut *bytes, 0) {
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(None),
            Err(error) if error.raw_os_error() == Some(nix::libc::ENOBUFS) => {
                eprintln!("hwsim-medium: too slow: frames got lost on their way to us");
                return Ok(None);
            }
            Err(error) => return Err(error).context("netlink"),
        };
        let message = NetlinkMessage::<GenlMessage<Hwsim>>::deserialize(&bytes[..length]);
        Ok(match message.map(|message| message.payload) {
            Ok(NetlinkPayload::InnerMessage(message)) => Sent::of(&message.payload),
            _ => None,
        })
    }
}

fn answer_frame(line: &Line, medium: &mut Medium, mut sent: Sent) -> Result<()> {
    let fate = medium.carry(&sent, Instant::now());
    if fate.attempts > 1 {
        frame::mark_retry(&mut sent.bytes);
    }
    let heard = fate.heard_by.iter();
    let heard = heard.map(|radio| sent.heard_by(*radio, sent.bytes.clone()));
    let told = sent.outcome(fate.attempts, fate.acked);
    line.send(heard.chain([told]), 0)
}

fn run(cli: &Cli) -> Result<()> {
    let mut set = SigSet::empty();
    set.add(Signal::SIGINT);
    set.add(Signal::SIGTERM);
    set.thread_block().context("blocking signals")?;
    let signals = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
    let line = Line::open()?;
    let mut medium = Medium::new(Air {
        seed: cli.seed,
        loss: cli.loss,
        tries: cli.tries,
    });
    println!("hwsim-medium: serves family {}", line.family);
    let mut bytes = vec![0; MESSAGE_BYTES];
    while signals.read_signal()?.is_none() {
        let mut fds =
            [&line.socket.as_fd(), &signals.as_fd()].map(|fd| PollFd::new(*fd, PollFlags::POLLIN));
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) => {}
            Err(nix::errno::Errno::EINTR) => continue,
            Err(error) => return Err(error).context("poll"),
        }
        if fds[0].any() == Some(true) {
            if let Some(sent) = line.next(&mut bytes)? {
                answer_frame(&line, &mut medium, sent)?;
            }
        }
    }
    println!("{}", medium.report());
    Ok(())
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hwsim-medium: {error:#}");
            ExitCode::FAILURE
        }
    }
}
