// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! `--pcapng`: the packets of the captures with what the agent did with them, and what it sent
//! itself, for Wireshark (docs/wireshark.md).
//!
//! Blocks and options are those of draft-ietf-opsawg-pcapng. The packets that the agent sends have
//! interfaces of their own, without link layer: which addresses and tags their frames would have had
//! no capture tells.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use pcap_parser::{
    EnhancedPacketBlock, InterfaceDescriptionBlock, Linktype, OptionCode, PcapNGOption,
    SectionHeaderBlock, ToVec,
};

use super::call::{Call, Side};
use super::capture::Frame;
use super::decision::{self, Sent};

/// Options of a packet (draft-ietf-opsawg-pcapng, section 4.3).
const EPB_FLAGS: OptionCode = OptionCode(2);
const EPB_VERDICT: OptionCode = OptionCode(7);
/// `epb_verdict` begins with the kind of what decided: `Linux_eBPF_TC`.
const BY_TC: u8 = 1;
/// `epb_flags`: the packet came in, or went out.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
/// `if_tsresol`: times are in nanoseconds.
const NANOSECONDS: u8 = 9;

/// What an interface is called, and what is said of it; their order makes their numbers.
const INTERFACES: [(&str, Linktype, &str); 4] = [
    (
        "wired",
        Linktype::ETHERNET,
        "captured: what comes to the agent from FH",
    ),
    (
        "lossy",
        Linktype::ETHERNET,
        "captured: what comes to the agent from MH",
    ),
    (
        "agent-to-fh",
        Linktype::RAW,
        "not captured: what the agent sends to FH",
    ),
    (
        "agent-to-mh",
        Linktype::RAW,
        "not captured: what the agent sends to MH",
    ),
];

fn captured_on(side: Side) -> u32 {
    match side {
        Side::Wired => 0,
        Side::Lossy => 1,
    }
}

fn sent_by(side: Side) -> u32 {
    match side {
        Side::Wired => 2,
        Side::Lossy => 3,
    }
}

/// The file that is being written.
#[derive(Debug)]
pub struct Pcapng {
    path: PathBuf,
    out: BufWriter<File>,
    /// Bytes from the IP header on that the captures have of longer packets: wired, lossy. What the
    /// agent sends on has no more.
    snapped: [Option<usize>; 2],
}

/// A packet as it goes into the file.
struct Packet<'a> {
    interface: u32,
    at_ns: u64,
    bytes: &'a [u8],
    original_bytes: usize,
    flags: u32,
    verdict: Option<u64>,
    comments: Vec<String>,
}

impl Pcapng {
    /// Makes the file. `about`: what it holds, in a line.
    ///
    /// # Errors
    /// In one line, with the file's name: it cannot be made or written.
    pub fn create(path: &Path, about: &str) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("--pcapng {}", path.display()))?;
        let mut pcapng = Self {
            path: path.to_owned(),
            out: BufWriter::new(file),
            snapped: [None; 2],
        };
        let program = concat!("lasthop-lab ", env!("CARGO_PKG_VERSION"));
        pcapng.write(&mut SectionHeaderBlock {
            block_type: 0,
            block_len1: 0,
            bom: 0,
            major_version: 1,
            minor_version: 0,
            section_len: -1, // not known yet
            options: vec![
                text(OptionCode::Comment, about),
                text(OptionCode::ShbUserAppl, program),
            ],
            block_len2: 0,
        })?;
        for (name, linktype, about) in INTERFACES {
            pcapng.write(&mut InterfaceDescriptionBlock {
                block_type: 0,
                block_len1: 0,
                linktype,
                reserved: 0,
                snaplen: 0, // no limit
                options: vec![
                    text(OptionCode::IfName, name),
                    text(OptionCode::IfDescription, about),
                ],
                block_len2: 0,
                if_tsresol: NANOSECONDS,
                if_tsoffset: 0,
            })?;
        }
        Ok(pcapng)
    }

    /// Enters a call of the agent: its packet, which came in `frame`, and then what the agent sent.
    /// `shown`: otherwise nothing is written but what later packets need is learnt.
    ///
    /// # Errors
    /// In one line, with the file's name: it cannot be written.
    pub fn call(&mut self, call: &Call, frame: &Frame, shown: bool) -> Result<()> {
        if let Some((side, packet)) = call.packet {
            self.learn(side, packet, frame);
            if shown {
                self.packet(&Packet {
                    interface: captured_on(side),
                    at_ns: frame.at_ns,
                    bytes: &frame.bytes[..frame.captured_bytes],
                    original_bytes: frame.bytes.len(),
                    flags: INBOUND,
                    verdict: Some(decision::verdict(call)),
                    comments: decision::comments(call),
                })?;
            }
        }
        if !shown {
            return Ok(());
        }
        for sent in decision::sent(call) {
            self.sent(call.clock.now_ns, sent)?;
        }
        Ok(())
    }

    /// Learns from `frame` how much of a packet the capture has.
    fn learn(&mut self, side: Side, packet: &[u8], frame: &Frame) {
        let missing_bytes = frame.bytes.len() - frame.captured_bytes;
        if missing_bytes > 0 {
            let bytes = packet.len().saturating_sub(missing_bytes);
            let known = &mut self.snapped[captured_on(side) as usize];
            *known = Some(known.map_or(bytes, |known| known.min(bytes)));
        }
    }

    fn sent(&mut self, at_ns: u64, sent: Sent) -> Result<()> {
        // What leaves by one device came by the other.
        let from = match sent.by {
            Side::Wired => Side::Lossy,
            Side::Lossy => Side::Wired,
        };
        let snapped = self.snapped[captured_on(from) as usize].unwrap_or(usize::MAX);
        self.packet(&Packet {
            interface: sent_by(sent.by),
            at_ns,
            bytes: &sent.bytes[..sent.bytes.len().min(snapped)],
            original_bytes: sent.bytes.len(),
            flags: OUTBOUND,
            verdict: None,
            comments: vec![sent.comment],
        })
    }

    fn packet(&mut self, packet: &Packet) -> Result<()> {
        let verdict = packet.verdict.map(|verdict| {
            let mut value = vec![BY_TC];
            value.extend(verdict.to_le_bytes());
            value
        });
        let comments = packet.comments.iter();
        let mut options: Vec<PcapNGOption> = comments
            .map(|comment| text(OptionCode::Comment, comment))
            .collect();
        options.push(binary(EPB_FLAGS, packet.flags.to_le_bytes().to_vec()));
        options.extend(verdict.map(|value| binary(EPB_VERDICT, value)));
        self.write(&mut EnhancedPacketBlock {
            block_type: 0,
            block_len1: 0,
            if_id: packet.interface,
            ts_high: (packet.at_ns >> 32) as u32,
            ts_low: packet.at_ns as u32,
            caplen: packet.bytes.len() as u32,
            origlen: packet.original_bytes as u32,
            data: packet.bytes,
            options,
            block_len2: 0,
        })
    }

    /// Writes a block, whose type and lengths the library fills in; little endian.
    fn write(&mut self, block: &mut impl ToVec) -> Result<()> {
        let named = || format!("--pcapng {}", self.path.display());
        let bytes = block.to_vec();
        let bytes = bytes.map_err(|error| anyhow!("a block: {error}"));
        let bytes = bytes.with_context(named)?;
        self.out.write_all(&bytes).with_context(named)
    }

    /// Writes what is not in the file yet.
    ///
    /// # Errors
    /// In one line, with the file's name: it cannot be written.
    pub fn finish(mut self) -> Result<()> {
        let named = || format!("--pcapng {}", self.path.display());
        self.out.flush().with_context(named)
    }
}

fn text(code: OptionCode, value: &str) -> PcapNGOption<'_> {
    PcapNGOption {
        code,
        len: value.len() as u16,
        value: Cow::Borrowed(value.as_bytes()),
    }
}

fn binary(code: OptionCode, value: Vec<u8>) -> PcapNGOption<'static> {
    PcapNGOption {
        code,
        len: value.len() as u16,
        value: Cow::Owned(value),
    }
}
