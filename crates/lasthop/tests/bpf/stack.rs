// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! How much stack the programs take, by the rule of the kernels that are strictest: each function
//! of a chain of calls counts with its own bytes rounded up to 32, and 512 is the most
//! (check_max_stack_depth in kernel/bpf/verifier.c; from 6.11 on 16 where the JIT knows better).
//! The machine that the tests run on may well take what these refuse.

use std::collections::{BTreeMap, BTreeSet};

use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex, SymbolKind};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lasthop.bpf.o"));

const MOST_BYTES: u32 = 512;
const FRAME: u8 = 10; // r10

/// One instruction (RFC 9669 section 3).
#[derive(Clone, Copy)]
struct Insn {
    code: u8,
    dst: u8,
    src: u8,
    off: i16,
    imm: i32,
}

impl Insn {
    fn read(b: &[u8]) -> Self {
        Self {
            code: b[0],
            dst: b[1] & 15,
            src: b[1] >> 4,
            off: i16::from_le_bytes([b[2], b[3]]),
            imm: i32::from_le_bytes([b[4], b[5], b[6], b[7]]),
        }
    }

    /// Bytes below r10 that it reaches as a load or a store.
    fn reaches(self) -> u32 {
        let base = match self.code & 7 {
            1 => self.src,     // LDX
            2 | 3 => self.dst, // ST, STX
            _ => return 0,
        };
        match base == FRAME && self.off < 0 {
            true => u32::from(self.off.unsigned_abs()),
            false => 0,
        }
    }

    fn copies_frame(self) -> bool {
        self.code == 0xbf && self.src == FRAME
    }

    fn calls_function(self) -> bool {
        self.code == 0x85 && self.src == 1
    }
}

/// A place in the object: index of the section, byte offset in it.
type Place = (usize, u64);

struct Function {
    name: String,
    bytes: u32,
    calls: BTreeSet<Place>,
}

/// The deepest byte of a function's own frame: loads, stores, and addresses that it takes.
fn own_bytes(code: &[Insn]) -> u32 {
    let direct = code.iter().map(|i| i.reaches()).max().unwrap_or(0);
    let taken = code.iter().enumerate().filter(|(_, i)| i.copies_frame());
    let taken = taken.filter_map(|(at, copy)| {
        let mut later = code[at + 1..].iter().take(16);
        let add = later.find(|i| i.dst == copy.dst && matches!(i.code, 0x07 | 0xbf | 0xb7))?;
        (add.code == 0x07 && add.imm < 0).then(|| add.imm.unsigned_abs())
    });
    direct.max(taken.max().unwrap_or(0))
}

fn functions(file: &ElfFile64) -> BTreeMap<Place, Function> {
    let mut all = BTreeMap::new();
    for symbol in file.symbols().filter(|s| s.kind() == SymbolKind::Text) {
        let Some(index) = symbol.section_index().filter(|_| symbol.size() > 0) else {
            continue;
        };
        let section = file.section_by_index(index).expect("section");
        let data = section.data().expect("code");
        let span = symbol.address() as usize..(symbol.address() + symbol.size()) as usize;
        let code: Vec<Insn> = data[span].chunks_exact(8).map(Insn::read).collect();
        // None: the kernel's own functions.
        let targets: BTreeMap<u64, Option<Place>> = section
            .relocations()
            .filter_map(|(at, relocation)| match relocation.target() {
                RelocationTarget::Symbol(index) => {
                    let target = file.symbol_by_index(index).expect("symbol");
                    let section = target.section_index();
                    Some((at, section.map(|section| (section.0, target.address()))))
                }
                _ => None,
            })
            .collect();
        let calls = code.iter().enumerate().filter(|(_, i)| i.calls_function());
        let calls = calls.filter_map(|(at, call)| {
            let at = symbol.address() + 8 * at as u64;
            let next = 8 * (i64::from(call.imm) + 1);
            match targets.get(&at) {
                Some(&target) => {
                    target.map(|(section, address)| (section, address.wrapping_add_signed(next)))
                }
                None => Some((index.0, at.wrapping_add_signed(next))),
            }
        });
        let function = Function {
            name: symbol.name().expect("name").to_owned(),
            bytes: own_bytes(&code),
            calls: calls.collect(),
        };
        all.insert((index.0, symbol.address()), function);
    }
    all
}

/// The deepest chain from `at`, bytes, and the functions on it.
fn deepest(all: &BTreeMap<Place, Function>, at: Place) -> (u32, Vec<String>) {
    let function = all
        .get(&at)
        .unwrap_or_else(|| panic!("no function at {at:?}"));
    let below = function.calls.iter().map(|&call| deepest(all, call));
    let (bytes, mut names) = below.max().unwrap_or_default();
    names.insert(0, format!("{} {}", function.name, function.bytes));
    (bytes + function.bytes.max(1).next_multiple_of(32), names)
}

#[test]
fn no_chain_of_calls_is_too_deep() {
    let file = ElfFile64::parse(OBJECT).expect("the programs' object");
    let all = functions(&file);
    let mut programs = 0;
    for (&at, function) in &all {
        let section = file.section_by_index(SectionIndex(at.0)).expect("section");
        if section.name() == Ok(".text") {
            continue;
        }
        programs += 1;
        let (bytes, chain) = deepest(&all, at);
        println!("{bytes}: {}", chain.join(" > "));
        assert!(
            !chain.is_empty() && bytes <= MOST_BYTES,
            "{bytes}: {chain:?}"
        );
        assert!(function.calls.is_empty() || chain.len() > 1);
    }
    assert!(programs >= 4, "{programs} programs");
}
