"""Kernel files with faults, or with many harms in one: compiling takes long.

Which harm is done stands in this process, at an address that the program knows: the
kernels of a CPU read its memory. `faulty` replaces passages of any kind, each of which
stands there once; `planted` replaces statements, wherever they stand.
"""

import ctypes
import mmap
from contextlib import contextmanager

from hpccfpga import sources

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


def broken(folder, name, *changes, among=None):
    """Return the path of a copy of a kernel file in which passages are replaced.

    Parameters
    ----------
    folder : Path
        Where it goes.
    name : str
        Of the file.
    *changes : (str, str)
        A passage that stands there once, and what stands in its place.
    among : str, optional
        Pattern of files that are copied with it; the passage stands once in all.
    """
    files = sources.kernel_dir().glob(among or name)
    texts = {path.name: path.read_text() for path in files}
    for old, new in changes:
        assert sum(text.count(old) for text in texts.values()) == 1, old
        texts = {file: text.replace(old, new) for file, text in texts.items()}
    for file, text in texts.items():
        (folder / file).write_text(text)
    return folder / name


def faulty(folder, name, faults, among=None):
    """Return the path of a copy of a kernel file that has all faults.

    A fault is done while its number stands in `done`; 0 is none.

    Parameters
    ----------
    folder, name, among
        As for `broken`.
    faults : dict of str to (str, str)
        By name, a passage, and what stands in its place: there the word HARMED tells
        whether the fault is to be done. Where several faults replace one passage, the
        new texts of all but one contain it.
    """
    changes = [
        (old, new.replace("HARMED", f"(HARM == {number})"))
        for number, (old, new) in enumerate(faults.values(), 1)
    ]
    # What does not contain its passage comes last: nothing replaces that afterwards.
    changes.sort(key=lambda change: change[0] not in change[1])
    path = broken(folder, name, *changes, among=among)
    path.write_text(HARM + path.read_text())
    return path
