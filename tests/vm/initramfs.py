"""The initramfs: a cpio archive of the kind that the kernel unpacks, `newc`."""

import stat
from pathlib import Path


def write(archive, entries):
    """Writes entries, name -> content: a Path is a file to copy, bytes a file, a str a link, an (major, minor) a device."""
    parents = {parent for name in entries for parent in Path(name).parents if parent != Path(".")}
    directories = {str(parent): None for parent in sorted(parents)}
    with open(archive, "wb") as out:
        for number, (name, content) in enumerate({**directories, **entries, "TRAILER!!!": b""}.items()):
            data, mode, device = b"", stat.S_IFREG | 0o755, (0, 0)
            match content:
                case None: mode = stat.S_IFDIR | 0o755
                case Path(): data = content.read_bytes()
                case bytes(): data = content
                case str(): data, mode = content.encode(), stat.S_IFLNK | 0o777
                case (_, _): mode, device = stat.S_IFCHR | 0o666, content
            encoded = name.encode() + b"\0"
            # inode, mode, uid, gid, links, mtime, size, device of the file (2), device that it is (2), name size, check
            fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(encoded), 0]
            for piece in (b"070701" + b"".join(b"%08x" % field for field in fields) + encoded, data):
                out.write(piece + bytes(-len(piece) % 4))
