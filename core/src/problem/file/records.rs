//! Records in and out: markers, subrecords, offsets. Nothing here knows what a record holds.

use std::fmt::Display;
use std::fs::File;
use std::io;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::problem::file::RECORDS;
use crate::system::{memory, output};

/// Bytes of a subrecord, gfortran's default.
pub const MAX_SUBRECORD: u64 = 2_147_483_639;

const MARKER: u64 = 4;

/// Bytes read ahead: enough for small records, little where seeks pass over most of a large one.
const AHEAD: usize = 1 << 14;

#[derive(Clone, Copy, Debug)]
pub struct MatrixAt {
    record: usize,
    offset: u64,
    length: u128,
}

/// Reads records one after the other, or passes over what is not wanted of them.
pub struct Reader {
    path: PathBuf,
    file: BufReader<File>,
    size: u64,
    /// Byte offset of the next byte.
    at: u64,
    record: usize,
    /// Byte offset of this record.
    start: u64,
    /// Bytes of this record not read yet, over all its subrecords.
    left: u64,
    subrecord: Subrecord,
}

#[derive(Clone, Copy, Default)]
struct Subrecord {
    length: u64,
    left: u64,
    first: bool,
    last: bool,
}

impl Reader {
    pub fn open(path: &Path) -> Result<Reader> {
        let whole = |e: io::Error| of_file(path, format!("cannot read: {e}"));
        let (file, size) = output::open(path).map_err(whole)?;
        Ok(Reader {
            path: path.to_path_buf(),
            size,
            file: BufReader::with_capacity(AHEAD, file),
            at: 0,
            record: 0,
            start: 0,
            left: 0,
            subrecord: Subrecord::default(),
        })
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// What is wrong with this record.
    pub fn error(&self, fault: impl Display) -> Error {
        let (record, offset) = (self.record, self.start);
        let name = RECORDS.get(record.wrapping_sub(1)).copied().unwrap_or_default();
        of_file(&self.path, format!("record {record} ({name}) at byte {offset}: {fault}"))
    }

    pub fn record(&self) -> usize {
        self.record
    }

    /// Begins a record that another reader of the same file, then of `size` bytes, has found.
    pub fn go_to(&mut self, place: MatrixAt, size: u64) -> Result<()> {
        let MatrixAt { record, offset, length } = place;
        (self.record, self.start) = (record, offset);
        if self.size != size {
            let found = self.size;
            return Err(self.error(format!("had {size} bytes when it was opened, has {found}")));
        }
        self.at = offset;
        self.file
            .seek(SeekFrom::Start(offset))
            .map_err(|reason| self.error(format!("cannot read at byte {offset}: {reason}")))?;
        self.record = record - 1;
        self.begin(length).map(|_| ())
    }

    /// Fails where host memory does not hold so many bytes of the record.
    pub fn require_memory(&self, needed: u64) -> Result<()> {
        memory::require("its array", needed).map_err(|error| self.error(error))
    }

    /// Starts the next record, which must hold `expected` bytes: checked against its first marker
    /// and against the rest of the file before anything is allocated for it.
    pub fn begin(&mut self, expected: u128) -> Result<MatrixAt> {
        self.record += 1;
        self.start = self.at;
        let remaining = self.size - self.at;
        let needed = expected + 2 * u128::from(MARKER);
        if self.record > 1 && u128::from(remaining) < needed {
            return Err(self.error(format!(
                "needs {needed} bytes with its markers, the file ends after {remaining}"
            )));
        }
        self.left = expected as u64;
        self.subrecord = self.open_subrecord(true)?;
        Ok(MatrixAt { record: self.record, offset: self.start, length: expected })
    }

    /// Reads the next bytes of the record.
    pub fn read(&mut self, mut bytes: &mut [u8]) -> Result<()> {
        while !bytes.is_empty() {
            while self.subrecord.left == 0 {
                self.next_subrecord()?;
            }
            let n = bytes.len().min(usize::try_from(self.subrecord.left).unwrap_or(usize::MAX));
            let (now, later) = bytes.split_at_mut(n);
            self.exact(now)?;
            self.subrecord.left -= n as u64;
            self.left -= n as u64;
            bytes = later;
        }
        Ok(())
    }

    /// Passes over the next bytes of the record without reading any but the markers on the way.
    pub fn skip(&mut self, mut bytes: u64) -> Result<()> {
        while bytes > 0 {
            while self.subrecord.left == 0 {
                self.next_subrecord()?;
            }
            let n = bytes.min(self.subrecord.left);
            self.require(n)?;
            let at = self.at;
            self.file
                .seek_relative(n as i64)
                .map_err(|reason| self.error(format!("cannot read at byte {at}: {reason}")))?;
            self.at += n;
            self.subrecord.left -= n;
            self.left -= n;
            bytes -= n;
        }
        Ok(())
    }

    /// Ends the record: all of it has been read and its last marker is right.
    pub fn end(&mut self) -> Result<()> {
        debug_assert_eq!(self.left, 0, "the caller reads what it announced");
        while !self.subrecord.last {
            self.next_subrecord()?;
        }
        self.close_subrecord()
    }

    /// Checks that nothing follows the last record.
    pub fn finish(&mut self) -> Result<()> {
        match self.size - self.at {
            0 => Ok(()),
            left => {
                let what = format!("{left} bytes follow the last record, at byte {}", self.at);
                Err(of_file(&self.path, what))
            }
        }
    }

    fn next_subrecord(&mut self) -> Result<()> {
        if self.subrecord.last {
            return Err(self.error("the record ends early"));
        }
        self.close_subrecord()?;
        self.subrecord = self.open_subrecord(false)?;
        Ok(())
    }

    fn open_subrecord(&mut self, first: bool) -> Result<Subrecord> {
        let marker = self.marker()?;
        let length = u64::from(marker.unsigned_abs());
        let last = marker >= 0;
        let fits = if last { length == self.left } else { 0 < length && length <= self.left };
        if !fits {
            let needed = self.left;
            let big_endian = u64::from(marker.swap_bytes().unsigned_abs()) == needed;
            let why = if big_endian { ": the file is big-endian" } else { "" };
            return Err(
                self.error(format!("needs a length marker of {needed}, found {marker}{why}"))
            );
        }
        Ok(Subrecord { length, left: length, first, last })
    }

    fn close_subrecord(&mut self) -> Result<()> {
        let Subrecord { length, first, .. } = self.subrecord;
        let expected = if first { length as i64 } else { -(length as i64) };
        let marker = self.marker()?;
        if i64::from(marker) != expected {
            let at = self.at - MARKER;
            return Err(self.error(format!(
                "needs {expected} as its closing marker at byte {at}, found {marker}"
            )));
        }
        Ok(())
    }

    fn marker(&mut self) -> Result<i32> {
        let mut bytes = [0; MARKER as usize];
        self.exact(&mut bytes)?;
        Ok(i32::from_le_bytes(bytes))
    }

    fn exact(&mut self, bytes: &mut [u8]) -> Result<()> {
        self.require(bytes.len() as u64)?;
        let at = self.at;
        self.file
            .read_exact(bytes)
            .map_err(|reason| self.error(format!("cannot read at byte {at}: {reason}")))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Fails where the file ends within the next bytes.
    fn require(&self, needed: u64) -> Result<()> {
        let (at, left) = (self.at, self.size.saturating_sub(self.at));
        if needed > left {
            return Err(self
                .error(format!("needs {needed} bytes at byte {at}, the file ends after {left}")));
        }
        Ok(())
    }
}

/// What is wrong with a file as a whole.
pub fn of_file(path: &Path, what: String) -> Error {
    Error::Input { origin: path.display().to_string(), what }
}

pub struct Writer<W: Write> {
    to: W,
    max_subrecord: u64,
}

impl<W: Write> Writer<W> {
    pub fn new(to: W, max_subrecord: u64) -> Writer<W> {
        assert!(max_subrecord > 0 && max_subrecord <= MAX_SUBRECORD);
        Writer { to, max_subrecord }
    }

    /// Writes a record of `length` bytes that `parts` yields piece by piece.
    pub fn record<'a>(
        &mut self,
        length: u64,
        parts: impl IntoIterator<Item = std::borrow::Cow<'a, [u8]>>,
    ) -> io::Result<()> {
        let mut left = length;
        let mut subrecord = self.open(left, true)?;
        for part in parts {
            let mut part = &part[..];
            while !part.is_empty() {
                if subrecord.left == 0 {
                    self.close(subrecord)?;
                    subrecord = self.open(left, false)?;
                }
                let n = part.len().min(usize::try_from(subrecord.left).unwrap_or(usize::MAX));
                self.to.write_all(&part[..n])?;
                subrecord.left -= n as u64;
                left -= n as u64;
                part = &part[n..];
            }
        }
        debug_assert_eq!(left, 0, "the caller writes what it announced");
        self.close(subrecord)
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    fn open(&mut self, left: u64, first: bool) -> io::Result<Subrecord> {
        let length = left.min(self.max_subrecord);
        let last = length == left;
        let marker = if last { length as i32 } else { -(length as i32) };
        self.to.write_all(&marker.to_le_bytes())?;
        Ok(Subrecord { length, left: length, first, last })
    }

    fn close(&mut self, subrecord: Subrecord) -> io::Result<()> {
        let length = subrecord.length as i32;
        let marker = if subrecord.first { length } else { -length };
        self.to.write_all(&marker.to_le_bytes())
    }
}
