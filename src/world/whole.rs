//! Everything that is left in a file, in one allocation where its length is known.

use std::fs::File;
use std::io::{self, Read as _};
use std::sync::Arc;

use crate::memory;

/// Everything that is left in a file; its length is only a hint, since it may be a pipe or still grow.
///
/// # Errors
/// When it cannot be read, or is larger than what can be judged in the memory that there is.
pub(crate) fn whole(file: File) -> io::Result<Arc<[u8]>> {
    up_to(file, memory::largest_input())
}

fn up_to(mut file: File, most: u64) -> io::Result<Arc<[u8]>> {
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file).map_or(0, |data| data.len());
    let too_large = || io::Error::other(memory::too_large(most));
    if length > most {
        return Err(too_large());
    }
    let mut bytes = zeros(usize::try_from(length).unwrap_or(0));
    let mut filled = 0;
    if let Some(space) = Arc::get_mut(&mut bytes) {
        while filled < space.len() {
            match file.read(&mut space[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    let parts = parts(file, (most + 1).saturating_sub(filled as u64))?;
    let all = filled + parts.iter().map(Vec::len).sum::<usize>();
    if all as u64 > most {
        return Err(too_large());
    }
    if all != bytes.len() || !parts.is_empty() {
        bytes = joined(&bytes[..filled], &parts, all);
    }
    if memory::weight(&bytes) > most {
        return Err(too_large());
    }
    Ok(bytes)
}

/// What is left, in parts: one vector that grows would be copied each time it does.
fn parts(mut file: File, most: u64) -> io::Result<Vec<Vec<u8>>> {
    const PART: usize = 1 << 20;
    let mut parts = Vec::new();
    let mut left = most;
    while left > 0 {
        // Nothing is touched before it is filled.
        let mut part = Vec::with_capacity(if parts.is_empty() { 0 } else { PART });
        let count = (&mut file).take(left.min(PART as u64)).read_to_end(&mut part)?;
        if count == 0 {
            break;
        }
        left -= count as u64;
        parts.push(part);
    }
    Ok(parts)
}

/// What was read, as one piece of so many bytes.
fn joined(start: &[u8], parts: &[Vec<u8>], all: usize) -> Arc<[u8]> {
    let mut out = zeros(all);
    if let Some(mut space) = Arc::get_mut(&mut out) {
        for part in std::iter::once(start).chain(parts.iter().map(Vec::as_slice)) {
            let (here, after) = space.split_at_mut(part.len());
            here.copy_from_slice(part);
            space = after;
        }
    }
    out
}

fn zeros(count: usize) -> Arc<[u8]> {
    std::iter::repeat_n(0, count).collect()
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
        let long: Vec<u8> = (0..(5_usize << 19) + 7).map(|at| u8::try_from(at % 251).unwrap_or_default()).collect();
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let said = long.clone();
        let wrote = std::thread::spawn(move || writer.write_all(&said));
        let read = whole(File::from(std::os::fd::OwnedFd::from(reader))).expect("read");
        assert!(*read == *long, "{} of {} bytes", read.len(), long.len());
        wrote.join().expect("no panic").expect("written");
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
