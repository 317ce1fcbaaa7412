//! The pin file under races, kills, links and full or closed disks.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use super::*;
use crate::pin::{BookError, Pin};
use crate::store::FileError;

fn pin(name: &str, value: &str) -> Pin {
    crate::tree::from_value(
        crate::tree::json!({"name": name, "value": value, "source": "env X", "time": "2026-11-21T10:00:00Z"}),
    )
    .expect("a pin")
}

fn store(folder: &tempfile::TempDir) -> FileStore {
    FileStore::new(folder.path().join("pins.yaml"))
}

/// What lies in a folder, by name.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("readable").flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn no_file_holds_no_pins_and_nothing_is_written_for_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(&folder);
    assert_eq!(store.read().expect("readable").pins(), []);
    store.update(|book| book.record(&[])).expect("nothing to do");
    assert_eq!(names(folder.path()), Vec::<String>::new());
}

#[test]
fn a_write_leaves_the_pins_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(".rollgate-pins-dead.new"), "half").expect("left by a killed run");
    store(&folder).update(|book| book.record(&[pin("a", "1")])).expect("written");
    assert_eq!(names(folder.path()), ["pins.yaml"]);
    assert_eq!(store(&folder).read().expect("readable").pins().len(), 1);
}

#[test]
fn a_lock_is_waited_for_and_ends_with_its_holder() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = store(&folder);
    store.patience = Duration::from_millis(30);
    let lock = File::open(folder.path()).expect("a folder");
    lock.lock().expect("free");
    let error = store.update(|book| book.record(&[pin("a", "1")])).expect_err("locked").to_string();
    assert!(error.contains("another run holds the lock on"), "{error}");
    assert!(!store.file().exists());
    drop(lock);
    store.update(|book| book.record(&[pin("a", "1")])).expect("free again");
}

#[test]
fn one_hundred_writers_agree_on_one_value_and_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let wins: Vec<(String, Result<bool, FileError<BookError>>)> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..100)
            .map(|number| {
                let store = store(&folder);
                scope.spawn(move || {
                    let value = format!("10.0.{number}.7");
                    let own = pin(&format!("own{number}"), "1");
                    store.update(|book| book.record(&[own])).expect("its own pin is in nobody's way");
                    let answer = store.update(|book| book.record(&[pin("vip", &value)]));
                    (value, answer)
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().expect("no panic")).collect()
    });
    let book = store(&folder).read().expect("readable");
    let winner = book.get("vip").expect("pinned").value.clone();
    for (value, answer) in wins {
        match answer {
            Ok(added) => assert!(added && value == winner),
            Err(FileError::Kept(error)) => {
                assert!(error.to_string().contains(&winner), "the refused writer sees the winner: {error}");
                assert_ne!(value, winner);
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(book.pins().len(), 101, "no writer lost the pin of another");
    assert_eq!(names(folder.path()), ["pins.yaml"]);
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_is_refused_and_never_written_through() {
    let folder = tempfile::tempdir().expect("a folder");
    let (store, victim) = (store(&folder), folder.path().join("victim"));
    std::os::unix::fs::symlink(&victim, store.file()).expect("a link");
    let error = store.update(|book| book.record(&[pin("a", "1")])).expect_err("a link to nothing").to_string();
    assert!(error.contains("a link to a file that does not exist"), "{error}");
    assert!(store.read().is_err(), "no pins is what nobody knows here");
    assert!(!victim.exists());
}

#[cfg(unix)]
#[test]
fn two_links_to_one_file_are_one_store() {
    let (folder, elsewhere) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let real = FileStore::new(elsewhere.path().join("real.yaml"));
    real.update(|book| book.record(&[pin("first", "1")])).expect("written");
    let link = store(&folder);
    std::os::unix::fs::symlink(real.file(), link.file()).expect("a link");
    std::thread::scope(|scope| {
        for number in 0..20 {
            let store = if number % 2 == 0 { &real } else { &link };
            scope.spawn(move || store.update(|book| book.record(&[pin(&format!("p{number}"), "1")])).expect("written"));
        }
    });
    assert_eq!(real.read().expect("readable").pins().len(), 21);
    assert!(fs::symlink_metadata(link.file()).expect("there").is_symlink(), "the link stays a link");
    assert_eq!(names(elsewhere.path()), ["real.yaml"]);
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_read_for_ever() {
    let folder = tempfile::tempdir().expect("a folder");
    for thing in ["/dev/zero", folder.path().to_str().expect("text")] {
        let link = FileStore::new(folder.path().join("link.yaml"));
        std::os::unix::fs::symlink(thing, link.file()).expect("a link");
        let error = link.read().expect_err(thing).to_string();
        assert!(error.contains("it is no file"), "{error}");
        fs::remove_file(link.file()).expect("removed");
    }
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let store = FileStore::new("/proc/nowhere/pins.yaml");
    assert_eq!(store.read().expect("no pins").pins(), []);
    let error = store.update(|book| book.record(&[pin("a", "1")])).expect_err("no such folder").to_string();
    assert!(error.starts_with("pins in /proc/nowhere/pins.yaml: cannot find it"), "{error}");
}

#[cfg(unix)]
#[test]
fn the_rights_of_the_file_stay() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(&folder);
    store.update(|book| book.record(&[pin("a", "1")])).expect("written");
    fs::set_permissions(store.file(), fs::Permissions::from_mode(0o640)).expect("ours");
    store.update(|book| book.record(&[pin("b", "1")])).expect("written");
    assert_eq!(fs::metadata(store.file()).expect("there").permissions().mode() & 0o777, 0o640);
}

/// The child of the test below: it dies in the middle of a write.
#[test]
fn a_write_that_may_die() {
    if let Some(file) = std::env::var_os("ROLLGATE_TEST_PINS") {
        FileStore::new(file).update(|book| book.record(&[pin("new", "2")])).expect("written, or dead before");
    }
}

#[test]
fn a_run_that_is_killed_at_any_step_leaves_the_old_pins_or_the_new_ones() {
    for is_there in [true, false] {
        for step in crate::store::file::STEPS {
            let folder = tempfile::tempdir().expect("a folder");
            let store = store(&folder);
            if is_there {
                store.update(|book| book.record(&[pin("old", "1")])).expect("written");
            }
            let before = fs::read(store.file()).ok();
            let status = std::process::Command::new(std::env::current_exe().expect("this test"))
                .args(["--exact", "pin::file::tests::a_write_that_may_die"])
                .env("ROLLGATE_TEST_PINS", store.file())
                .env("ROLLGATE_TEST_DIES_AT", step)
                .output()
                .expect("it runs")
                .status;
            assert!(!status.success(), "it was killed: {step}");
            let after = fs::read(store.file()).ok();
            let book = store.read().expect("readable, whatever happened");
            if step == "in place" {
                assert_eq!(book.get("new").map(|pin| pin.value.as_str()), Some("2"), "{step}");
            } else {
                assert_eq!(after, before, "{step}");
            }
            assert_eq!(book.get("old").is_some(), is_there, "nothing that stood is lost: {step}");
            // The next run needs nobody's help, and takes away what was left.
            store.update(|book| book.record(&[pin("next", "3")])).expect("no lock is left");
            assert_eq!(names(folder.path()), ["pins.yaml"], "{step}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_may_not_be_written_is_named_and_keeps_what_it_has() {
    // Nobody makes files there, not even root.
    let error = FileStore::new("/sys/rollgate.pins.yaml").update(|book| book.record(&[pin("a", "1")]));
    let error = error.expect_err("read-only").to_string();
    assert!(error.starts_with("pins in /sys/rollgate.pins.yaml: cannot write it"), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_link_into_another_file_system_is_written_there() {
    let (here, Ok(there)) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir_in("/dev/shm")) else { return };
    let real = there.path().join("real.yaml");
    fs::write(&real, "").expect("written");
    let link = store(&here);
    std::os::unix::fs::symlink(&real, link.file()).expect("a link");
    link.update(|book| book.record(&[pin("a", "1")])).expect("written");
    assert!(fs::symlink_metadata(link.file()).expect("there").is_symlink(), "the link stays a link");
    assert!(fs::read_to_string(&real).expect("there").contains("name: \"a\""));
    assert_eq!((names(here.path()), names(there.path())), (vec!["pins.yaml".to_owned()], vec!["real.yaml".to_owned()]));
}
