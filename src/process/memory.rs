//! Keeping little memory while nothing happens.

use super::procfs;
use std::io;

/// One malloc arena for all threads: a second one costs memory at idle and its speed is not needed here. [CR-02]
pub fn use_one_arena() {
    // SAFETY: mallopt takes two integers and changes the allocator's tunables under its own lock.
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Gives the kernel back the pages that are free inside of the heap, which shrinks from its end alone by itself.
/// `malloc_trim(0)`. What the threads keep for themselves stays: some hundred kilobytes at most. [KF-188]
pub fn release_heap() {
    // SAFETY: malloc_trim takes an integer and works under the allocator's own lock; only memory that nobody has is let go.
    unsafe { libc::malloc_trim(0) };
}

/// The heap, as a part of memory that children do not get.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    until: usize,
}

impl LeftOut {
    /// Has the forks from now on leave out the heap as it is. `madvise(MADV_DONTFORK)`.
    ///
    /// A child would get a copy of its page tables, take it down at its exec, and each page of it that we write next is copied
    /// because of that child. [KF-189] What malloc has mapped by itself, large pieces, is not in it, and what shrank and grew
    /// again to the same end since is copied until the end moves.
    pub(super) fn update(&mut self) {
        // SAFETY: sbrk(0) changes nothing and tells the end of the heap; one that another thread moves at this moment is where
        // it was or will be, and madvise refuses a range that is not there.
        let end = unsafe { libc::sbrk(0) } as usize;
        if end == self.until {
            return;
        }
        // SAFETY: the address of this thread's errno, which is not read.
        let thread_local = unsafe { libc::__errno_location() } as usize;
        // A static program has the first thread's own memory at the start of the heap, and a child needs that.
        let start = (thread_local + THREAD_LOCAL).next_multiple_of(PAGE);
        if start < end {
            // SAFETY: nothing changes for us. In a child the range is not there, and a child of ours does not look at it:
            // see `spawn::child`.
            let answer = unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTFORK) };
            if answer == -1 {
                return; // starts cost what they did before
            }
        }
        self.until = end;
    }
}

/// More than what a thread has of its own behind its errno: our thread locals, a kilobyte, and what the C library keeps of a
/// thread, two.
const THREAD_LOCAL: usize = 16 << 10;
const PAGE: usize = 4 << 10;

/// Lets go of the pages of the own program text: set-up has touched most of it, and waiting needs a few pages.
///
/// `madvise(MADV_DONTNEED)` on the mappings that hold nothing but what the file says. What is needed again comes back
/// from the page cache by itself. Gives the bytes that were let go. [KF-08]
pub fn release_text() -> io::Result<usize> {
    // All is understood before anything is let go: the code that does it is text too, and comes back by pieces of 64 KiB.
    let ranges: Vec<(usize, usize)> = {
        let maps = procfs::read("/proc/self/maps")?;
        String::from_utf8_lossy(&maps).lines().filter_map(pure_mapping).collect()
    };
    let mut released = 0;
    for &(start, length) in &ranges {
        // SAFETY: the range is a private mapping of a file without write permission, executable or from the file's first
        // page, so no page of it was ever written: not the relocated read-only data, which lies behind. Dropping its pages
        // loses nothing; the next access reads the same bytes again.
        let answer = unsafe { libc::madvise(start as *mut libc::c_void, length, libc::MADV_DONTNEED) };
        if answer == -1 {
            return Err(io::Error::last_os_error());
        }
        released += length;
    }
    Ok(released)
}

/// Start and length of a mapping that is the unchanged text or read-only data of a file: `r-xp`, or `r--p` at offset 0.
fn pure_mapping(line: &str) -> Option<(usize, usize)> {
    let mut fields = line.split_ascii_whitespace();
    let (range, permissions, offset) = (fields.next()?, fields.next()?, fields.next()?);
    let (_device, inode) = (fields.next()?, fields.next()?);
    let first_page = usize::from_str_radix(offset, 16) == Ok(0);
    let pure = permissions == "r-xp" || (permissions == "r--p" && first_page);
    let (start, end) = range.split_once('-')?;
    let start = usize::from_str_radix(start, 16).ok()?;
    let length = usize::from_str_radix(end, 16).ok()?.checked_sub(start)?;
    (pure && inode != "0").then_some((start, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_never_written_is_let_go() {
        let text = "002bc000-004e6000 r-xp 000bb000 fe:00 10133601   /m";
        assert_eq!(pure_mapping(text), Some((0x002b_c000, 0x0022_a000)));
        assert_eq!(pure_mapping("00200000-002bc000 r--p 00000000 fe:00 10133601 /m"), Some((0x20_0000, 0xb_c000)));
        for kept in [
            "004e6000-004ea000 r--p 002e4000 fe:00 10133601 /m", // relocated data
            "004ea000-004ee000 rw-p 002e7000 fe:00 10133601 /m",
            "7ffd0000-7ffd1000 r-xp 00000000 00:00 0 [vdso]",
            "",
        ] {
            assert_eq!(pure_mapping(kept), None, "{kept}");
        }
    }

    #[test]
    fn the_program_goes_on_without_its_text() {
        assert!(release_text().unwrap() > 0);
        assert_eq!("still here".len(), 10);
    }
}
