//! Everything that is left in a file, in one piece of memory.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt as _;

use bytes::Bytes;
use memmap2::MmapMut;

use crate::memory;
use crate::parallel;

/// How much of a file one core reads at a time.
const PART: usize = 1 << 20;
/// What is set aside at first for what has no length, and what a pipe holds that nobody widened.
const FIRST: usize = 64 << 10;
/// What is set aside once it is large. Nothing of it is touched before it is filled.
const THEN: usize = 16 << 20;
/// The least that is read into pages of its own. What is larger comes in few large pages where the system has them, as the first touch of
/// each page costs more than what is read into it.
const LARGE: usize = 2 << 20;

/// Everything that is left in a file; its length is only a hint, since it may be a pipe or still grow.
///
/// # Errors
/// When it cannot be read, or is larger than what can be judged in the memory that there is.
pub(crate) fn whole(file: File) -> io::Result<Bytes> {
    up_to(file, memory::largest_input())
}

fn up_to(mut file: File, most: u64) -> io::Result<Bytes> {
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|data| data.len());
    let too_large = || io::Error::other(memory::too_large(most));
    if length.is_some_and(|length| length > most) {
        return Err(too_large());
    }
    let mut room = match length.map(usize::try_from) {
        Some(Ok(length)) if length > 0 => known(&mut file, length)?,
        _ => Room::of(FIRST)?,
    };
    room.fill_from(&mut file, most)?;
    if memory::weight(room.filled()) > most {
        return Err(too_large());
    }
    Ok(room.into_bytes())
}

/// What a pipe may hold: the most that Linux gives to everybody. Who writes into it and who reads from it wait less for each other.
#[cfg(target_os = "linux")]
const WIDE: usize = 1 << 20;

/// Makes a pipe, where it is one, hold more for so many bytes. One for less stays as it is: a user may have so many wide pipes and no more.
pub(crate) fn widen(pipe: impl AsFd, length: usize) {
    #[cfg(target_os = "linux")]
    if length >= FIRST && rustix::pipe::fcntl_getpipe_size(pipe.as_fd()).is_ok_and(|size| size < WIDE) {
        let _: rustix::io::Result<usize> = rustix::pipe::fcntl_setpipe_size(pipe, WIDE);
    }
}

/// Memory that is filled from its beginning.
struct Room {
    memory: Memory,
    filled: usize,
}

/// Where that is.
enum Memory {
    Small(Vec<u8>),
    Large(MmapMut),
}

impl Room {
    /// So much, all zeros.
    fn of(length: usize) -> io::Result<Self> {
        if length < LARGE {
            return Ok(Self { memory: Memory::Small(vec![0; length]), filled: 0 });
        }
        let map = MmapMut::map_anon(length)?;
        #[cfg(target_os = "linux")]
        // A system without large pages gives small ones.
        drop(map.advise(memmap2::Advice::HugePage));
        Ok(Self { memory: Memory::Large(map), filled: 0 })
    }

    fn all(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Small(bytes) => bytes,
            Memory::Large(map) => map,
        }
    }

    fn filled(&self) -> &[u8] {
        let all: &[u8] = match &self.memory {
            Memory::Small(bytes) => bytes,
            Memory::Large(map) => map,
        };
        &all[..self.filled]
    }

    /// Reads on to the end of a file, or until it is more than the most.
    fn fill_from(&mut self, file: &mut File, most: u64) -> io::Result<()> {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        // A file whose length was right is at its end, and needs no more memory to say so.
        let mut beyond = [0; 32];
        while self.filled <= most {
            let filled = self.filled;
            let free = &mut self.all()[filled..];
            let is_full = free.is_empty();
            let count = match file.read(if is_full { &mut beyond } else { free }) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if is_full {
                widen(&*file, filled);
                let mut larger = Self::of(next_room(filled, most).max(filled + count))?;
                larger.all()[..filled].copy_from_slice(self.filled());
                larger.all()[filled..filled + count].copy_from_slice(&beyond[..count]);
                *self = larger;
            }
            self.filled = filled + count;
        }
        Ok(())
    }

    fn into_bytes(self) -> Bytes {
        let Self { memory, filled } = self;
        match memory {
            Memory::Small(mut bytes) => {
                bytes.truncate(filled);
                bytes.into()
            }
            Memory::Large(map) => Bytes::from_owner(map).slice(..filled),
        }
    }
}

/// What is set aside where so much is filled and more comes: twice as much while it is small, and no more than what is looked at.
fn next_room(filled: usize, most: usize) -> usize {
    let twice = filled.saturating_mul(2).max(FIRST);
    if twice < LARGE { twice } else { twice.max(THEN) }.min(most.saturating_add(1))
}

/// What a file of this length has from where it stands on, read by all cores; the file stands behind it then.
fn known(file: &mut File, length: usize) -> io::Result<Room> {
    let start = file.stream_position()?;
    let left = length.saturating_sub(usize::try_from(start).unwrap_or(length));
    let mut room = Room::of(left)?;
    let mut parts: Vec<(u64, &mut [u8], io::Result<usize>)> = Vec::new();
    for (place, part) in room.all().chunks_mut(PART).enumerate() {
        parts.push((start + (place * PART) as u64, part, Ok(0)));
    }
    parallel::few(&mut parts, |(from, part, count)| *count = filled(file, *from, part));
    let mut filled = 0;
    for (_, part, count) in parts {
        let count = count?;
        filled += count;
        // It is shorter than it said.
        if count < part.len() {
            break;
        }
    }
    room.filled = filled;
    file.seek(SeekFrom::Start(start + filled as u64))?;
    Ok(room)
}

/// Fills a part of what is read, as far as the file goes.
fn filled(file: &File, from: u64, part: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while count < part.len() {
        match file.read_at(&mut part[count..], from + count as u64) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::io::{Seek as _, Write as _};

    use super::*;

    #[test]
    fn a_file_is_read_from_where_it_stands_to_its_end() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"one two three").expect("written");
        file.seek(io::SeekFrom::Start(4)).expect("moved");
        assert_eq!(&*whole(file).expect("read"), b"two three");
    }

    #[test]
    fn what_is_too_large_is_refused_and_not_cut() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"one two three").expect("written");
        file.rewind().expect("moved");
        assert!(up_to(file, 12).is_err());
        let (reader, mut writer) = io::pipe().expect("a pipe");
        writer.write_all(b"one two three").expect("written");
        drop(writer);
        assert!(up_to(File::from(std::os::fd::OwnedFd::from(reader)), 12).is_err());
    }

    #[test]
    fn a_long_pipe_is_read_in_parts_to_its_end() {
        for length in [FIRST, FIRST + 1, LARGE - 1, LARGE + 7, THEN, THEN + 1] {
            let mut long: Vec<u8> = (0..251).collect::<Vec<u8>>().repeat(length / 251 + 1);
            long.truncate(length);
            let (reader, mut writer) = io::pipe().expect("a pipe");
            let said = long.clone();
            let wrote = std::thread::spawn(move || writer.write_all(&said));
            let read = whole(File::from(std::os::fd::OwnedFd::from(reader))).expect("read");
            assert!(*read == *long, "{} of {length} bytes", read.len());
            wrote.join().expect("no panic").expect("written");
        }
    }

    #[test]
    fn a_large_file_is_read_from_where_it_stands_even_if_it_grows_meanwhile() {
        let mut file = tempfile::tempfile().expect("a file");
        let long = b"a line of text\n".repeat(LARGE / 10);
        file.write_all(&long).expect("written");
        file.seek(io::SeekFrom::Start(2)).expect("moved");
        let mut room = known(&mut file, long.len()).expect("read");
        assert!(matches!(room.memory, Memory::Large(_)));
        file.write_all(b"more").expect("written");
        file.seek(io::SeekFrom::Start(long.len() as u64)).expect("moved");
        room.fill_from(&mut file, u64::MAX).expect("read");
        assert_eq!(*room.into_bytes(), *[&long[2..], b"more"].concat());
    }

    #[test]
    fn no_more_is_set_aside_than_is_looked_at() {
        let sizes = |most| {
            std::iter::successors(Some(FIRST), move |filled| Some(next_room(*filled, most))).take(9).collect::<Vec<_>>()
        };
        let small = [1, 2, 4, 8, 16].map(|times| times * FIRST);
        assert_eq!(sizes(usize::MAX - 1), [&small[..], &[THEN, 2 * THEN, 4 * THEN, 8 * THEN]].concat());
        assert_eq!(sizes(LARGE)[5..], [LARGE + 1; 4]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_is_made_wider_for_much_and_no_file_is() {
        let (reader, _writer) = io::pipe().expect("a pipe");
        let size = || rustix::pipe::fcntl_getpipe_size(&reader).expect("a pipe");
        let before = size();
        widen(&reader, FIRST - 1);
        assert_eq!(size(), before);
        widen(&reader, FIRST);
        // Who has many wide pipes already may widen no more.
        assert!([WIDE, before].contains(&size()), "{}", size());
        widen(tempfile::tempfile().expect("a file"), WIDE);
    }

    #[test]
    fn a_pipe_has_no_length() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        writer.write_all(b"through a pipe").expect("written");
        drop(writer);
        let reader = std::os::fd::OwnedFd::from(reader);
        assert_eq!(&*whole(File::from(reader)).expect("read"), b"through a pipe");
    }
}
