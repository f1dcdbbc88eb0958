// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Reads capture files, classic pcap and pcapng, packet by packet.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, PcapHeader, create_reader};

/// A record must fit; the longest packets (super-packets) have half of it.
const BUFFER_BYTES: usize = 1 << 20;
const SEC_NS: u64 = 1_000_000_000;

/// One captured packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// When it was captured, nanoseconds since 1970.
    pub at_ns: u64,
    /// From the Ethernet header on; what the capture left out is zeros.
    pub bytes: Vec<u8>,
    /// So many of them the capture has.
    pub captured_bytes: usize,
}

/// What later records of a file refer to.
#[derive(Debug, Clone, Copy)]
struct Interface {
    /// Timestamps are in such parts of a second.
    ticks_per_s: u64,
    /// Seconds to add to them.
    offset_s: i64,
}

/// A capture file that is being read.
pub struct Capture {
    path: PathBuf,
    reader: Box<dyn PcapReaderIterator + Send>,
    /// Of the present section; a classic file has one.
    interfaces: Vec<Interface>,
    nr_frames: u64,
}

impl Capture {
    /// Opens a file.
    ///
    /// # Errors
    /// In one line, with the file's name: it cannot be opened, or is no capture.
    pub fn open(path: &Path) -> Result<Self> {
        let named = || path.display().to_string();
        let file = File::open(path).with_context(named)?;
        let reader = create_reader(BUFFER_BYTES, file).map_err(|error| match error {
            PcapError::ReadError => anyhow!("cannot be read"),
            PcapError::Eof => anyhow!("is empty"),
            PcapError::Incomplete(_) => anyhow!("ends in its header"),
            _ => anyhow!("neither pcap nor pcapng"),
        });
        Ok(Self {
            reader: reader.with_context(named)?,
            path: path.to_owned(),
            interfaces: Vec::new(),
            nr_frames: 0,
        })
    }

    /// Name of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The next packet; none at the end.
    ///
    /// # Errors
    /// In one line, with the file's name: the file ends within a record, a record makes no
    /// sense, has no time, or is not from an Ethernet device.
    pub fn next_frame(&mut self) -> Result<Option<Frame>> {
        let nr_frames = self.nr_frames;
        let frame = self
            .read()
            .with_context(|| format!("{}: after {nr_frames} packets", self.path.display()))?;
        self.nr_frames += u64::from(frame.is_some());
        Ok(frame)
    }

    fn read(&mut self) -> Result<Option<Frame>> {
        loop {
            let (used, frame) = match self.reader.next() {
                Ok((used, block)) => (used, frame_of(block, &mut self.interfaces)?),
                Err(PcapError::Eof) => return Ok(None),
                Err(PcapError::Incomplete(_)) => {
                    if self.reader.refill().is_err() {
                        bail!("cannot be read");
                    }
                    continue;
                }
                Err(PcapError::UnexpectedEof) => bail!("the file ends within a record"),
                Err(PcapError::BufferTooSmall) => bail!("a record of more than 1 MiB"),
                Err(_) => bail!("a record that makes no sense"),
            };
            self.reader.consume(used);
            if frame.is_some() {
                return Ok(frame);
            }
        }
    }
}

/// The packet in a record, if it is one of a packet.
fn frame_of(block: PcapBlockOwned, interfaces: &mut Vec<Interface>) -> Result<Option<Frame>> {
    let first = interfaces.first().copied();
    match block {
        PcapBlockOwned::LegacyHeader(header) => *interfaces = vec![classic(&header)?],
        PcapBlockOwned::NG(Block::SectionHeader(_)) => interfaces.clear(),
        PcapBlockOwned::NG(Block::InterfaceDescription(block)) => {
            ethernet(block.linktype)?;
            interfaces.push(Interface {
                ticks_per_s: block.ts_resolution().context("unknown unit of time")?,
                offset_s: block.if_tsoffset,
            });
        }
        PcapBlockOwned::Legacy(block) => {
            let ticks_per_s = first.map_or(SEC_NS, |interface| interface.ticks_per_s);
            let at_ns = u64::from(block.ts_sec) * SEC_NS
                + u64::from(block.ts_usec) * (SEC_NS / ticks_per_s);
            return padded(at_ns, block.data, block.origlen).map(Some);
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(block)) => {
            let interface = interfaces.get(block.if_id as usize);
            let interface = interface.context("a packet of an interface that is not described")?;
            let ticks = u64::from(block.ts_high) << 32 | u64::from(block.ts_low);
            return padded(interface.ns(ticks), block.packet_data(), block.origlen).map(Some);
        }
        PcapBlockOwned::NG(Block::SimplePacket(_)) => bail!("a packet without a time"),
        // Statistics, names, comments.
        PcapBlockOwned::NG(_) => {}
    }
    Ok(None)
}

fn classic(header: &PcapHeader) -> Result<Interface> {
    ethernet(header.network)?;
    let ticks_per_s = match header.is_nanosecond_precision() {
        true => SEC_NS,
        false => 1_000_000,
    };
    Ok(Interface {
        ticks_per_s,
        offset_s: 0,
    })
}

fn ethernet(link: Linktype) -> Result<()> {
    if link != Linktype::ETHERNET {
        bail!("{link} is not the link type of an Ethernet device");
    }
    Ok(())
}

impl Interface {
    fn ns(self, ticks: u64) -> u64 {
        let ticks_per_s = u128::from(self.ticks_per_s);
        let ns = u128::from(ticks) * u128::from(SEC_NS) / ticks_per_s;
        let offset_ns = i128::from(self.offset_s) * i128::from(SEC_NS);
        (ns as i128 + offset_ns).clamp(0, i128::from(u64::MAX)) as u64
    }
}

fn padded(at_ns: u64, captured: &[u8], original_bytes: u32) -> Result<Frame> {
    let original_bytes = original_bytes as usize;
    if original_bytes > BUFFER_BYTES {
        bail!("a packet of {original_bytes} bytes");
    }
    let mut bytes = captured.to_vec();
    bytes.resize(original_bytes.max(captured.len()), 0);
    Ok(Frame {
        at_ns,
        bytes,
        captured_bytes: captured.len(),
    })
}
