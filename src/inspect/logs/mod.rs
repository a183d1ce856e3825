//! `minion logs`: the rotated, packed and current files of a log as one stream, to which no rotation shows.

mod clean;
mod find;

pub use find::sandbox;

use crate::error::{During, Error, Result};
use crate::log::{History, Segment, Stamp, Standing};
use crate::process::procfs;
use clean::Cleaner;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::fstat;
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

/// What of a log is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// Go on for as long as the output is read.
    pub follow: bool,
    /// Begin with the last so many lines.
    pub lines: Option<u64>,
    /// Leave out files whose last line is older.
    pub since: Option<Stamp>,
    /// Spell out control characters, for a terminal.
    pub clean: bool,
}

/// Copies the log of `task` to `output`. An output that is no longer read ends it without an error.
///
/// A backup that cannot be read, or not to its end, is told to `broken`, and those after it follow.
pub fn copy<O: Write + AsFd>(
    sandbox: &Path,
    task: &str,
    request: &Request,
    output: &mut O,
    broken: &mut dyn FnMut(&Error),
) -> Result<()> {
    let history = History::open(sandbox, task)?;
    if !request.follow && !history.exists() {
        return Err(Error::new("find", format!("{task}.log"), format!("there is none in {sandbox:?}"))
            .hint("minion logs executor and minion logs proxy are the two of minion run"));
    }
    let watch = if request.follow { Some(watch(&history)?) } else { None };
    let cleaner = request.clean.then(Cleaner::default);
    let mut copy = Copy { history, watch, output, broken, cleaner, piece: vec![0; 64 * 1024], skip: 0 };
    match copy.run(request) {
        Err(error) if error.errno() == Some(libc::EPIPE) => Ok(()),
        result => result,
    }
}

/// Told of everything that happens in the directory, from before the first look at it.
fn watch(history: &History) -> Result<OwnedFd> {
    let watch = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).during("watch", "the sandbox")?;
    let events =
        WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::MOVED_FROM | WatchFlags::DELETE;
    let path = procfs::descriptor(history.as_fd().as_raw_fd());
    inotify::add_watch(&watch, &path, events).during("watch", "the sandbox")?;
    // Its own end is told by its parent alone, for as long as we have it open. [KF-181]
    let _ = inotify::add_watch(&watch, path.join(".."), WatchFlags::DELETE);
    Ok(watch)
}

struct Copy<'a, O> {
    history: History,
    watch: Option<OwnedFd>,
    output: &'a mut O,
    broken: &'a mut dyn FnMut(&Error),
    cleaner: Option<Cleaner>,
    piece: Vec<u8>,
    /// Lines to leave out.
    skip: u64,
}

/// Whether there may be more.
enum Next {
    /// Behind the file that was copied.
    File,
    /// No: all was copied, and nobody waits for more; or the directory is gone.
    Nothing,
}

impl<O: Write + AsFd> Copy<'_, O> {
    fn run(&mut self, request: &Request) -> Result<()> {
        let mut segments = self.history.after(None)?;
        // What comes later is behind this backup.
        let mut after = segments.iter().rev().find_map(Segment::stamp);
        segments = self.begin(segments, request)?;
        loop {
            let empty = segments.is_empty();
            for mut segment in segments {
                if let Next::Nothing = self.copy_file(&mut segment, &mut after)? {
                    return Ok(());
                }
            }
            if empty && !self.wait()? {
                return Ok(());
            }
            segments = self.history.after(after)?;
        }
    }

    /// The files to begin with, and how much of them to leave out.
    fn begin(&mut self, mut segments: Vec<Segment>, request: &Request) -> Result<Vec<Segment>> {
        if let Some(since) = request.since {
            let mut kept = Vec::new();
            for mut segment in segments {
                let old = segment.last_written().during("look at", "a log file")? < since.millis();
                if !old {
                    kept.push(segment);
                } else if segment.stamp().is_none() {
                    // What is written now is old, and what will be written is not.
                    segment.skip_all().during("read", "the log")?;
                    kept.push(segment);
                }
            }
            segments = kept;
        }
        if let Some(wanted) = request.lines {
            segments = self.last_lines(segments, wanted)?;
        }
        Ok(segments)
    }

    /// Leaves out all but the last lines: whole files, and then lines of the first that stays.
    fn last_lines(&mut self, mut segments: Vec<Segment>, wanted: u64) -> Result<Vec<Segment>> {
        let mut counted = 0;
        for at in (0..segments.len()).rev() {
            if counted >= wanted && at + 1 < segments.len() {
                segments.drain(..=at);
                break;
            }
            counted += self.count_lines(&mut segments[at])?;
        }
        self.skip = counted.saturating_sub(wanted);
        Ok(segments)
    }

    /// The lines of a file, with one at its end that has no end yet. The file is at its beginning before and after.
    ///
    /// Of one that cannot be read to its end, those before: whoever copies it then says why.
    fn count_lines(&mut self, segment: &mut Segment) -> Result<u64> {
        let (mut lines, mut last) = (0, b'\n');
        while let Ok(count) = read(segment, &mut self.piece) {
            let Some(end) = self.piece[..count].last() else { break };
            last = *end;
            lines += self.piece[..count].split(|byte| *byte == b'\n').skip(1).count() as u64;
        }
        segment.rewind().during("read", self.history.name_of(segment))?;
        Ok(lines + u64::from(last != b'\n'))
    }

    /// Copies a file to its end, and where it is the one that is written now, until it no longer is.
    fn copy_file(&mut self, segment: &mut Segment, after: &mut Option<Stamp>) -> Result<Next> {
        if let Some(stamp) = segment.stamp() {
            self.drain_backup(segment)?;
            *after = Some(stamp);
            return Ok(Next::File);
        }
        self.drain(segment)?;
        loop {
            match segment.standing(&self.history).during("look at", "the log")? {
                Standing::Replaced => {
                    // The writer writes nothing to it any more, but did between our last read and its rename.
                    self.drain(segment)?;
                    *after = segment.became(&self.history).or(*after);
                    return Ok(Next::File);
                }
                Standing::Current | Standing::Nameless => {
                    if !self.wait()? {
                        return Ok(Next::Nothing);
                    }
                    segment.notice_truncation().during("read", "the log")?;
                    self.drain(segment)?;
                }
            }
        }
    }

    /// One that is broken, as a disk that was full leaves it, hides none of the others.
    fn drain_backup(&mut self, segment: &mut Segment) -> Result<()> {
        let mut last = b'\n';
        loop {
            match read(segment, &mut self.piece) {
                Ok(0) => return Ok(()),
                Ok(count) => {
                    last = self.piece[count - 1];
                    self.put(count).during("write to", "standard output")?;
                }
                Err(error) => {
                    let failed = Error::io("read", self.history.name_of(segment), error);
                    (self.broken)(&failed.hint("what is missing of it is left out"));
                    return self.end_line(last);
                }
            }
        }
    }

    /// The first line of the next file begins a line.
    fn end_line(&mut self, last: u8) -> Result<()> {
        if last == b'\n' {
            return Ok(());
        }
        self.piece[0] = b'\n';
        self.put(1).during("write to", "standard output")
    }

    fn drain(&mut self, segment: &mut Segment) -> Result<()> {
        loop {
            let count = read(segment, &mut self.piece)
                .map_err(|error| Error::io("read", self.history.name_of(segment), error))?;
            if count == 0 {
                return Ok(());
            }
            self.put(count).during("write to", "standard output")?;
        }
    }

    fn put(&mut self, count: usize) -> io::Result<()> {
        let mut bytes = &self.piece[..count];
        while self.skip > 0 && !bytes.is_empty() {
            let end = bytes.iter().position(|byte| *byte == b'\n');
            self.skip -= u64::from(end.is_some());
            bytes = end.map_or(&[], |end| &bytes[end + 1..]);
        }
        match &mut self.cleaner {
            Some(cleaner) => self.output.write_all(cleaner.clean(bytes)),
            None => self.output.write_all(bytes),
        }
    }

    /// Waits until something happens in the directory. False when nobody waits, nobody reads, or the directory is gone.
    fn wait(&mut self) -> Result<bool> {
        let Some(watch) = &self.watch else { return Ok(false) };
        // A pipe without reader says so by itself.
        let mut fds = [PollFd::new(watch, PollFlags::IN), PollFd::new(&*self.output, PollFlags::empty())];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error).during("wait for", "the log"),
        }
        if fds[1].revents().intersects(PollFlags::ERR | PollFlags::HUP) {
            return Ok(false);
        }
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(watch, &mut buffer);
        loop {
            match events.next() {
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(fstat(&self.history).is_ok_and(|directory| directory.st_nlink > 0)),
                Err(error) => return Err(error).during("wait for", "the log"),
            }
        }
    }
}

fn read(segment: &mut Segment, piece: &mut [u8]) -> io::Result<usize> {
    loop {
        match segment.read(piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
