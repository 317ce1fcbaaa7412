//! Everything that is left in a file, in one allocation where its length is known.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use crate::memory;
use crate::parallel;

/// How much of a file one core reads at a time.
const PART: usize = 1 << 20;
/// What is set aside for what has no length. Nothing of it is touched before it is filled.
const PIPE: usize = 16 << 20;

/// Everything that is left in a file; its length is only a hint, since it may be a pipe or still grow.
///
/// # Errors
/// When it cannot be read, or is larger than what can be judged in the memory that there is.
pub(crate) fn whole(file: File) -> io::Result<Arc<Vec<u8>>> {
    up_to(file, memory::largest_input())
}

fn up_to(mut file: File, most: u64) -> io::Result<Arc<Vec<u8>>> {
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|data| data.len());
    let too_large = || io::Error::other(memory::too_large(most));
    if length.is_some_and(|length| length > most) {
        return Err(too_large());
    }
    let mut bytes = match length.map(usize::try_from) {
        Some(Ok(length)) if length > 0 => known(&mut file, length)?,
        _ => Vec::with_capacity(PIPE.min(usize::try_from(most).unwrap_or(PIPE))),
    };
    file.take((most + 1).saturating_sub(bytes.len() as u64)).read_to_end(&mut bytes)?;
    if memory::weight(&bytes) > most {
        return Err(too_large());
    }
    Ok(Arc::new(bytes))
}

/// What a file of this length has from where it stands on, read by all cores; the file stands behind it then.
fn known(file: &mut File, length: usize) -> io::Result<Vec<u8>> {
    let start = file.stream_position()?;
    let left = length.saturating_sub(usize::try_from(start).unwrap_or(length));
    let mut bytes = vec![0; left];
    let mut parts: Vec<(u64, &mut [u8], io::Result<usize>)> = Vec::new();
    for (place, part) in bytes.chunks_mut(PART).enumerate() {
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
    bytes.truncate(filled);
    file.seek(SeekFrom::Start(start + filled as u64))?;
    Ok(bytes)
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
