// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Frame buffers in three sizes, recycled, with a fixed bound on the memory of all together.

use crate::frame::MAX_FRAME_BYTES;

/// ACKs and the like, full segments, jumbo frames.
const CLASS_BYTES: [usize; 3] = [256, 2048, MAX_FRAME_BYTES];
/// Bound for one direction: 1 Gbit/s of full frames for 1.5 s.
const MAX_POOL_BYTES: usize = 256 << 20;
/// Buffers of each class made at the start, so that a run begins with warm memory.
const INITIAL_BUFFERS: [usize; 3] = [512, 512, 0];

/// A buffer with one frame in it.
#[derive(Debug)]
pub struct Buffer {
    bytes: Box<[u8]>,
    used_bytes: usize,
}

impl Buffer {
    /// The frame.
    pub fn frame(&self) -> &[u8] {
        &self.bytes[..self.used_bytes]
    }

    /// The frame, to be filled or changed.
    pub fn frame_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.used_bytes]
    }
}

/// Source of [`Buffer`]s.
pub struct Pool {
    free: [Vec<Box<[u8]>>; 3],
    allocated_bytes: usize,
    max_bytes: usize,
}

impl Pool {
    /// A pool with the default bound.
    pub fn new() -> Self {
        Self::with_bound(MAX_POOL_BYTES, INITIAL_BUFFERS)
    }

    fn with_bound(max_bytes: usize, initial: [usize; 3]) -> Self {
        let mut pool = Self {
            free: Default::default(),
            allocated_bytes: 0,
            max_bytes,
        };
        for (class, count) in initial.into_iter().enumerate() {
            let made: Vec<_> = (0..count).map_while(|_| pool.make(class)).collect();
            pool.free[class] = made;
        }
        pool
    }

    /// A buffer for a frame of `bytes`, its contents unspecified; `None` when the frame is longer
    /// than [`MAX_FRAME_BYTES`] or the bound is reached.
    pub fn take(&mut self, bytes: usize) -> Option<Buffer> {
        let class = CLASS_BYTES.iter().position(|size| bytes <= *size)?;
        let buffer = self.free[class].pop().or_else(|| self.make(class))?;
        Some(Buffer {
            bytes: buffer,
            used_bytes: bytes,
        })
    }

    /// Takes a buffer back.
    pub fn give(&mut self, buffer: Buffer) {
        if let Some(class) = CLASS_BYTES
            .iter()
            .position(|size| *size == buffer.bytes.len())
        {
            self.free[class].push(buffer.bytes);
        }
    }

    fn make(&mut self, class: usize) -> Option<Box<[u8]>> {
        let bytes = CLASS_BYTES[class];
        if self.allocated_bytes + bytes > self.max_bytes {
            return None;
        }
        self.allocated_bytes += bytes;
        Some(vec![0; bytes].into_boxed_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_bounded_and_recycled() {
        let mut pool = Pool::with_bound(3 * 2048, [0; 3]);
        let mut taken: Vec<Buffer> = (0..3).map(|_| pool.take(1514).unwrap()).collect();
        assert!(pool.take(1514).is_none() && pool.take(60).is_none());
        assert!(taken.iter().all(|b| b.frame().len() == 1514));
        pool.give(taken.pop().unwrap());
        assert!(pool.take(300).is_some());
        assert!(pool.take(MAX_FRAME_BYTES + 1).is_none());
    }
}
