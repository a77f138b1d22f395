"""Harms that kernels do, many in one program: compiling it takes longer than all runs.

Which of them is done stands in this process, at an address that the program knows: the
kernels of a CPU read its memory.
"""

import ctypes
import mmap
from contextlib import contextmanager

AT = 0x3_0000_0000
HARM = f"#define HARM (*(volatile __global const uint *){AT:#x}UL)\n"


def page_take():
    """Take a page there, for the number of the harm that is done; 0 is none."""
    only_there = 0x100000  # MAP_FIXED_NOREPLACE
    how = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | only_there
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    place = ctypes.c_void_p(AT), ctypes.c_size_t(mmap.PAGESIZE)
    at = libc.mmap(*place, mmap.PROT_READ | mmap.PROT_WRITE, how, -1, ctypes.c_long(0))
    assert at == AT, "something else lies there"
    return ctypes.c_uint.from_address(AT)


NUMBER = page_take()


@contextmanager
def done(harms, harm):
    """Have one of the harms done, or none, as all must be numbered in the program."""
    NUMBER.value = list(harms).index(harm) + 1 if harm else 0
    try:
        yield
    finally:
        NUMBER.value = 0


def planted(text, harms):
    """Put harms into a kernel's text.

    Parameters
    ----------
    text : str
    harms : dict of str to (str, str)
        By name, a statement of the text, and what stands in its place.
    """
    for was in dict.fromkeys(was for was, _ in harms.values()):
        assert was in text, was
        choice = ""
        for at, (place, now) in enumerate(harms.values()):
            if place == was:
                choice += f"if (HARM == {at + 1}) {{ {now}; }} else "
        text = text.replace(was, f"do {{ {choice}{{ {was}; }} }} while (0)")
    return HARM + text
