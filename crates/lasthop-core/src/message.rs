// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the agents of a hop say to each other (core/message.h), and whom of them to believe
//! (core/partner.h).

use std::net::IpAddr;

use crate::bindings::{
    self as b, lh_hello, lh_key, lh_keys, lh_message, lh_missing, lh_partner, lh_partners,
    lh_sender, lh_us,
};

/// A message, as on the wire and in host byte order.
pub type Message = lh_message;
/// Body of a HELLO.
pub type Hello = lh_hello;
/// Body of a MISSING.
pub type Missing = lh_missing;
/// Whom a message is from.
pub type Sender = lh_sender;
/// Who we are on a device.
pub type Us = lh_us;
/// The agents at the other end.
pub type Partners = lh_partners;
/// One of them.
pub type Partner = lh_partner;

/// Bytes of a key.
pub const KEY_BYTES: usize = 16;

/// SipHash-2-4 of any bytes.
///
/// # Panics
/// More than 4 GiB.
pub fn siphash(key: &[u8; KEY_BYTES], data: &[u8]) -> u64 {
    let len = u32::try_from(data.len()).expect("a message");
    // SAFETY: both are readable for the lengths that the function takes.
    unsafe { b::lhc_siphash(key.as_ptr(), data.as_ptr(), len) }
}

/// What an agent with these policies can do for another one (`enum lh_can`).
pub fn can(policy: u32) -> u64 {
    // SAFETY: a pure function of a number.
    unsafe { b::lhc_can(policy) }
}

impl lh_key {
    /// A key from its bytes; its number comes of them.
    pub fn new(bytes: &[u8; KEY_BYTES]) -> Self {
        let mut key = Self::default();
        // SAFETY: 16 bytes are read, and `key` is ours.
        unsafe { b::lhc_key_init(&mut key, bytes.as_ptr()) };
        key
    }
}

impl lh_keys {
    /// The first seals, both open; none at all is no channel.
    pub fn new(keys: &[lh_key]) -> Self {
        let mut both = Self::default();
        for (to, from) in both.key.iter_mut().zip(keys) {
            *to = *from;
        }
        both
    }
}

impl lh_sender {
    /// Somebody at this address.
    pub fn at(addr: IpAddr) -> Self {
        let (mut bytes, family) = ([0; 16], if addr.is_ipv4() { 4 } else { 6 });
        match addr {
            IpAddr::V4(v4) => bytes[..4].copy_from_slice(&v4.octets()),
            IpAddr::V6(v6) => bytes = v6.octets(),
        }
        Self {
            addr: bytes,
            family,
            ..Self::default()
        }
    }

    /// The address.
    pub fn ip(&self) -> IpAddr {
        let a = &self.addr;
        match self.family {
            4 => IpAddr::from([a[0], a[1], a[2], a[3]]),
            _ => IpAddr::from(*a),
        }
    }
}

impl lh_message {
    /// A message yet to be sealed; a body is put into it first.
    pub fn new(from: IpAddr, epoch: u64, stream: u32, counter: u64) -> Self {
        Self {
            epoch,
            counter,
            stream: stream as u8,
            from: Sender::at(from),
            ..Self::default()
        }
    }

    /// Bytes that came from somebody. More than a message may have are none.
    pub fn received(bytes: &[u8], from: IpAddr) -> Self {
        let mut m = Self {
            bytes: bytes.len().try_into().unwrap_or(u32::MAX),
            from: Sender::at(from),
            ..Self::default()
        };
        for (word, part) in m.w.iter_mut().zip(bytes.chunks(8)) {
            let mut whole = [0; 8];
            whole[..part.len()].copy_from_slice(part);
            *word = u64::from_ne_bytes(whole);
        }
        m
    }

    /// The message in a packet with its headers, if it is one to `port`.
    pub fn find(packet: &[u8], l2_bytes: u32, port: u16) -> Option<Self> {
        let mut m = Self::default();
        let len = packet.len().try_into().ok()?;
        // SAFETY: `packet` is readable for `len` bytes, of which no more are read.
        let at =
            unsafe { b::lhc_message_find(packet.as_ptr(), len, l2_bytes, u32::from(port), &mut m) };
        (at != 0).then_some(m)
    }

    /// As it goes on the wire, once it is sealed.
    pub fn wire(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.w.iter().flat_map(|w| w.to_ne_bytes()).collect();
        bytes.truncate(self.bytes as usize);
        bytes
    }

    /// The packet that it goes in once it is sealed: from its sender to `to`, with headers.
    pub fn packet(&self, to: &Sender, l2_bytes: u32, port: u16) -> Vec<u8> {
        let mut packet = vec![0; 320];
        let port = u32::from(port);
        // SAFETY: values of ours, and as much room as the function wants.
        let len = unsafe { b::lhc_message_packet(packet.as_mut_ptr(), self, to, l2_bytes, port) };
        packet.truncate(len as usize);
        packet
    }

    /// Makes us the sender, and completes `to`: without an address it is all of the link. False: we
    /// have no address of that family.
    pub fn address(&mut self, us: &Us, to: &mut Sender) -> bool {
        // SAFETY: three values of ours.
        unsafe { b::lhc_message_address(self, us, to) != 0 }
    }

    /// Whether it is for us.
    pub fn is_for(&self, us: &Us) -> bool {
        // SAFETY: two values of ours.
        unsafe { b::lhc_message_for(self, us) != 0 }
    }

    /// Says hello.
    pub fn put_hello(&mut self, hello: &Hello) {
        // SAFETY: two values of ours.
        unsafe { b::lhc_hello_put(self, hello) };
    }

    /// Says what did not come. False: no block, or too many.
    pub fn put_missing(&mut self, missing: &Missing) -> bool {
        // SAFETY: two values of ours.
        unsafe { b::lhc_missing_put(self, b::LH_MESSAGE_MISSING, missing) != 0 }
    }

    /// Says what of that will not come. False: no block, or too many.
    pub fn put_absent(&mut self, absent: &Missing) -> bool {
        // SAFETY: two values of ours.
        unsafe { b::lhc_missing_put(self, b::LH_MESSAGE_ABSENT, absent) != 0 }
    }

    /// Seals it.
    pub fn seal(&mut self, key: &lh_key) {
        // SAFETY: two values of ours.
        unsafe { b::lhc_message_seal(self, key) };
    }

    /// What it is: `enum lh_opened`.
    pub fn open(&mut self, keys: &lh_keys) -> u32 {
        // SAFETY: two values of ours, and only words of the message are read.
        unsafe { b::lhc_message_open(self, keys) as u32 }
    }

    /// The body of an opened HELLO.
    pub fn hello(&self) -> Option<Hello> {
        let mut hello = Hello::default();
        // SAFETY: two values of ours.
        unsafe { b::lhc_hello_get(self, &mut hello) };
        (u32::from(self.type_) == b::LH_MESSAGE_HELLO).then_some(hello)
    }

    /// The body of an opened MISSING.
    pub fn missing(&self) -> Option<Missing> {
        self.list_of(b::LH_MESSAGE_MISSING)
    }

    /// The body of an opened ABSENT.
    pub fn absent(&self) -> Option<Missing> {
        self.list_of(b::LH_MESSAGE_ABSENT)
    }

    fn list_of(&self, kind: u32) -> Option<Missing> {
        let mut list = Missing::default();
        // SAFETY: two values of ours.
        unsafe { b::lhc_missing_get(self, &mut list) };
        (u32::from(self.type_) == kind).then_some(list)
    }
}

impl lh_partners {
    /// Nobody is known yet.
    pub fn new(epoch: u64) -> Box<Self> {
        Box::new(Self {
            epoch,
            ..Self::default()
        })
    }

    /// Whether an opened message counts: `enum lh_opened`.
    pub fn take(&mut self, message: &Message, now_ns: u64) -> u32 {
        // SAFETY: two values of ours.
        unsafe { b::lhc_partners_take(self, message, now_ns) as u32 }
    }

    /// Those of whom anything is known.
    pub fn known(&self) -> impl Iterator<Item = &Partner> {
        self.partner.iter().filter(|partner| partner.epoch != 0)
    }

    /// The number of the one whose frames come from there, if it is up.
    pub fn find(&self, from: &Sender, now_ns: u64) -> Option<usize> {
        // SAFETY: two values of ours.
        let at = unsafe { b::lhc_partners_find(self, from, now_ns) };
        usize::try_from(at).ok()?.checked_sub(1)
    }
}

impl lh_partner {
    /// Whether messages may be sent to it, and are believed.
    pub fn up(&self, now_ns: u64) -> bool {
        // SAFETY: a value of ours.
        unsafe { b::lhc_partner_up(self, now_ns) != 0 }
    }
}

/// What to say to a partner, or to whoever hears it.
pub fn hello_to(partner: Option<&Partner>, can: u64, now_ns: u64) -> Hello {
    let mut hello = Hello::default();
    let partner = partner.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: null or a value that outlives the call.
    unsafe { b::lhc_partner_hello(partner, can, now_ns, &mut hello) };
    hello
}

impl lh_missing {
    /// Of a connection as the agent that misses the data has it.
    pub fn of(ours: &b::lh_flow_key, blocks: &[(u32, u32)]) -> Self {
        let mut missing = Self::default();
        // SAFETY: two values of ours.
        unsafe { b::lhc_missing_turn(&mut missing, ours) };
        missing.nr = blocks.len() as u32;
        for (to, &(left, right)) in missing.block.iter_mut().zip(blocks) {
            *to = b::lh_sack_block { left, right };
        }
        missing
    }
}
