//! What a child reads of its program between fork and exec, in memory of its own: the heap may be left out of the fork.
//! [KF-189]

use super::Program;
use rustix::fs::Gid;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::{CStr, c_char};
use std::io;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::slice;

/// What is mapped at least: the program of most tasks fits, and a second mapping costs more than the room.
const LEAST: usize = 16 << 10;

/// Anonymous memory for one program at a time. `mmap`.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// # Invariant
    /// A private, writable mapping of this many bytes that is ours alone, or none.
    mapping: Option<(NonNull<u8>, usize)>,
}

/// A program as it lies in a block: what `execve`, `chdir` and `setgroups` take.
#[derive(Clone, Copy)]
pub(super) struct Image<'a> {
    pub(super) file: &'a CStr,
    pub(super) directory: Option<&'a CStr>,
    pub(super) groups: &'a [Gid],
    /// # Invariant
    /// Both are arrays of pointers to strings that end with NUL, in the block; the last pointer is null.
    args: *const *const c_char,
    env: *const *const c_char,
    block: PhantomData<&'a Block>,
}

impl Image<'_> {
    /// `argv` and `envp`.
    pub(super) fn vectors(&self) -> (*const *const c_char, *const *const c_char) {
        (self.args, self.env)
    }
}

impl Block {
    /// Copies the program into the block, over the one before.
    pub(super) fn lay_out(&mut self, program: &Program) -> io::Result<Image<'_>> {
        let groups = program.user.as_ref().map_or(&[][..], |user| &user.groups);
        let pointers = program.args + 1 + program.env + 1;
        let (pointer_bytes, group_bytes) = (pointers * size_of::<*const c_char>(), size_of_val(groups));
        let start = self.room(pointer_bytes + group_bytes + program.strings.len())?;
        let at = |offset| start.as_ptr().wrapping_add(offset);
        // SAFETY: of the three: the room is ours alone for as long as the image borrows us, begins at a page and holds the
        // parts one behind the other, those that need more alignment first. Whatever bytes lie there are pointers.
        let table: &mut [*const c_char] = unsafe { slice::from_raw_parts_mut(at(0).cast(), pointers) };
        // SAFETY: see above. Whatever bytes lie there are numbers of groups.
        let own_groups: &mut [Gid] = unsafe { slice::from_raw_parts_mut(at(pointer_bytes).cast(), groups.len()) };
        // SAFETY: see above.
        let text: &mut [u8] =
            unsafe { slice::from_raw_parts_mut(at(pointer_bytes + group_bytes), program.strings.len()) };
        own_groups.copy_from_slice(groups);
        text.copy_from_slice(&program.strings);
        let mut strings = Strings { rest: text };
        let file = strings.next().unwrap_or_default();
        let (args, env) = table.split_at_mut(program.args + 1);
        for vector in [&mut *args, &mut *env] {
            if let Some((end, places)) = vector.split_last_mut() {
                places.iter_mut().zip(&mut strings).for_each(|(place, string)| *place = string.as_ptr());
                *end = ptr::null();
            }
        }
        let (args, env, directory) = (args.as_ptr(), env.as_ptr(), strings.next());
        Ok(Image { file, directory, groups: own_groups, args, env, block: PhantomData })
    }

    /// The start of a mapping with so much room. What was in it is gone.
    fn room(&mut self, bytes: usize) -> io::Result<NonNull<u8>> {
        if let Some((start, length)) = self.mapping
            && length >= bytes
        {
            return Ok(start);
        }
        self.unmap();
        let length = bytes.max(LEAST);
        // SAFETY: the kernel chooses the place, so nothing of ours is there; the file of the mapping is none.
        let start =
            unsafe { mmap_anonymous(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) }?;
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        self.mapping = Some((start, length));
        Ok(start)
    }

    /// Lets go of what a program of unusual size has taken.
    pub(super) fn trim(&mut self) {
        if self.mapping.is_some_and(|(_, length)| length > LEAST) {
            self.unmap();
        }
    }

    fn unmap(&mut self) {
        if let Some((start, length)) = self.mapping.take() {
            // SAFETY: by the invariant it is our mapping, and no image borrows us.
            let _ = unsafe { munmap(start.as_ptr().cast(), length) };
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.unmap();
    }
}

/// One string after the other, each with the NUL byte at its end.
struct Strings<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Strings<'a> {
    type Item = &'a CStr;

    fn next(&mut self) -> Option<&'a CStr> {
        let string = CStr::from_bytes_until_nul(self.rest).ok()?;
        self.rest = &self.rest[string.count_bytes() + 1..];
        Some(string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::path::Path;

    fn read(array: *const *const c_char) -> Vec<String> {
        // SAFETY: by the invariant of `Image`: up to the null there are pointers.
        let pointer = |nth| unsafe { *array.wrapping_add(nth) };
        let strings = (0..).map(pointer).take_while(|pointer| !pointer.is_null());
        // SAFETY: by the invariant of `Image`, and those before the null are strings.
        strings.map(|pointer| unsafe { CStr::from_ptr(pointer) }.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_program_lies_in_the_block_as_it_was_given() {
        let mut block = Block::default();
        for padding in [0, 3 * LEAST, 5] {
            let long = "x".repeat(padding);
            let args = ["./km", "", &long].map(OsString::from);
            let env = [("A".into(), "1=2".into()), ("EMPTY".into(), "".into()), ("LONG".into(), long.clone().into())];
            let program = Program::new(Path::new("./a km"), &args, &env).unwrap();
            let program = program.in_directory(Path::new("/w")).unwrap().as_user(1, 2, &[3, 4]);
            let image = block.lay_out(&program).unwrap();
            drop(program);
            let (args, env) = image.vectors();
            assert_eq!(read(args), ["./km", "", &long]);
            assert_eq!(read(env), ["A=1=2", "EMPTY=", &format!("LONG={long}")]);
            assert_eq!((image.file, image.directory), (c"./a km", Some(c"/w")));
            assert_eq!(image.groups, [3, 4].map(Gid::from_raw));
            block.trim();
            assert!(block.mapping.is_none_or(|(_, length)| length == LEAST));
        }
        let bare = Program::new(Path::new("/bin/true"), &[], &[]).unwrap();
        let image = block.lay_out(&bare).unwrap();
        let (args, env) = image.vectors();
        assert!(read(args).is_empty() && read(env).is_empty());
        assert_eq!((image.file, image.directory, image.groups.len()), (c"/bin/true", None, 0));
    }
}
