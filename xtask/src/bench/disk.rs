//! The yardstick: how often per second this disk makes a 4 KiB write durable.

use std::fs::OpenOptions;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

/// Flushes per second of overwriting allocated blocks, as a write-ahead log does.
pub(crate) fn flushes_per_second(folder: &Path) -> Result<f64> {
    let path = folder.join("flush.probe");
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(&path)?;
    let block = [0x5a_u8; 4096];
    for _ in 0..256 {
        file.write_all(&block)?;
    }
    file.sync_all().context("this disk cannot flush")?;
    let began = Instant::now();
    let mut flushes = 0_u32;
    while began.elapsed() < Duration::from_secs(1) {
        file.seek(SeekFrom::Start(u64::from(flushes % 256) * 4096))?;
        file.write_all(&block)?;
        file.sync_data()?;
        flushes += 1;
    }
    let seconds = began.elapsed().as_secs_f64();
    std::fs::remove_file(&path)?;
    Ok(f64::from(flushes) / seconds)
}
