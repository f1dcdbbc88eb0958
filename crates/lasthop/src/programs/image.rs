// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The compiled programs as the program carries them: packed, for they are read once per device, and
//! what was read of a file stays in memory.

use std::io::Read;

use anyhow::{Context, Result};
use flate2::read::ZlibDecoder;
use libbpf_rs::{OpenMapMut, OpenObject};

static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lasthop.bpf.o.zz"));
/// Where the length of the table of lines stands, in digits.
const LINES: &str = include_str!(concat!(env!("OUT_DIR"), "/lasthop.lines"));
const LENGTH_BYTES: usize = 4;

/// The object. The table that tells which instruction is of which line is half of it, and the kernel
/// would keep more than a megabyte of it: it is left out unless somebody wants to know why the kernel
/// refuses the programs.
pub(super) fn image() -> Result<Vec<u8>> {
    let mut image = Vec::new();
    ZlibDecoder::new(PACKED)
        .read_to_end(&mut image)
        .context("BPF object")?;
    if !tracing::enabled!(tracing::Level::DEBUG) {
        forget_lines(&mut image)?;
    }
    Ok(image)
}

/// A map of programs that are about to be loaded.
pub(super) fn map_of<'a>(open: &'a mut OpenObject, name: &str) -> Result<OpenMapMut<'a>> {
    let mut maps = open.maps_mut();
    maps.find(|map| map.name().to_string_lossy() == name)
        .with_context(|| format!("no BPF map {name}"))
}

fn forget_lines(image: &mut [u8]) -> Result<()> {
    let at: usize = LINES.parse().context("BPF object")?;
    let length = image.get_mut(at..at + LENGTH_BYTES);
    length.context("BPF object")?.fill(0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use object::{Object, ObjectSection};

    use super::*;

    /// Only the length of the lines is changed: what stands before it is where functions are.
    #[test]
    fn lines_are_left_out() {
        let mut image = Vec::new();
        let read = ZlibDecoder::new(PACKED).read_to_end(&mut image);
        assert!(read.unwrap() > PACKED.len());
        let header = |image: &[u8]| -> Vec<u32> {
            let file = object::File::parse(image).unwrap();
            let section = file.section_by_name(".BTF.ext").unwrap();
            let bytes = section.data().unwrap();
            let words = bytes[..24].chunks_exact(4);
            words
                .map(|word| u32::from_ne_bytes(word.try_into().unwrap()))
                .collect()
        };
        let mut expected = header(&image);
        assert_eq!(expected[0] & 0xffff, 0xeb9f, "BTF's magic number");
        assert!(expected[5] > 100_000, "{expected:?}");
        forget_lines(&mut image).unwrap();
        expected[5] = 0;
        assert_eq!(header(&image), expected);
    }
}
