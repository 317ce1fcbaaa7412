//! Everything that is left in a file, in one allocation where its length is known.

use std::fs::File;
use std::io::{self, Read as _};
use std::sync::Arc;

/// Everything that is left in a file; its length is only a hint, since it may be a pipe or still grow.
pub(crate) fn whole(mut file: File) -> io::Result<Arc<[u8]>> {
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file).map_or(0, |data| data.len());
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
    file.read_to_end(&mut rest)?;
    if filled == bytes.len() && rest.is_empty() {
        return Ok(bytes);
    }
    rest.splice(0..0, bytes[..filled].iter().copied());
    Ok(rest.into())
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
    fn a_pipe_has_no_length() {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        writer.write_all(b"through a pipe").expect("written");
        drop(writer);
        let reader = std::os::fd::OwnedFd::from(reader);
        assert_eq!(&*whole(File::from(reader)).expect("read"), b"through a pipe");
    }
}
