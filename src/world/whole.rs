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
    let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, usize::try_from(length).unwrap_or(0)).collect();
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
    let mut rest = Vec::new();
    let filled_so_far = filled as u64;
    file.take((most + 1).saturating_sub(filled_so_far)).read_to_end(&mut rest)?;
    if filled_so_far + rest.len() as u64 > most {
        return Err(too_large());
    }
    if filled < bytes.len() || !rest.is_empty() {
        rest.splice(0..0, bytes[..filled].iter().copied());
        bytes = rest.into();
    }
    if memory::weight(&bytes) > most {
        return Err(too_large());
    }
    Ok(bytes)
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
    fn a_pipe_has_no_length() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        writer.write_all(b"through a pipe").expect("written");
        drop(writer);
        let reader = std::os::fd::OwnedFd::from(reader);
        assert_eq!(&*whole(File::from(reader)).expect("read"), b"through a pipe");
    }
}
