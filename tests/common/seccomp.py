#!/usr/bin/env python3
"""Runs a command under a seccomp filter that answers EPERM to the named system calls: seccomp.py CALL,... COMMAND ARGS"""

import ctypes
import errno
import os
import platform
import struct
import sys

NUMBERS = {
    "clone3": 435, "close_range": 436, "openat2": 437, "pidfd_open": 434, "pidfd_send_signal": 424,
    "unshare": {"x86_64": 272, "aarch64": 97}[platform.machine()],
}
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, FILTER = 22, 38, 2
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


def instruction(code, jt, jf, k):
    return struct.pack("HBBI", code, jt, jf, k)


calls = [NUMBERS[name] for name in sys.argv[1].split(",")]
program = instruction(0x20, 0, 0, 0)  # load the call's number
for number in calls:
    program += instruction(0x15, 0, 1, number) + instruction(0x06, 0, 0, ERRNO | errno.EPERM)
program += instruction(0x06, 0, 0, ALLOW)
buffer = ctypes.create_string_buffer(program, len(program))
filter = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer)))
libc = ctypes.CDLL(None, use_errno=True)
for arguments in ((PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (PR_SET_SECCOMP, FILTER, filter, 0, 0)):
    if libc.prctl(*arguments) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
os.execv(sys.argv[2], sys.argv[2:])
