"""Files: read within bounds, written whole or not at all; folders of this user alone.

What is trusted is opened first and judged by its descriptor: between a look at a path
and the use of it, another user may put something else there.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

Buffer = Any  # that of collections.abc came with Python 3.12

LARGEST = 2**30
"""Most that is read of a file, and that one may unpack to [B]."""

ANOTHER_CACHE = "set HPCCFPGA_CACHE to a folder of your own"
"""What helps where `cache_dir` cannot be used."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_FOREIGN_WRITE = stat.S_IWGRP | stat.S_IWOTH


class PrivateFolder:
    """A folder of this user that nobody else can write, held open.

    Missing folders of `path` are made, for this user alone whatever the umask. Its
    files go by the open descriptor, so they stay in the folder that was checked. Where
    a library wants a path, the folders above must be safe, too: those of the user's
    home are, and so is a sticky one like /tmp.

    Parameters
    ----------
    path : path
        Its last part must be no symbolic link.

    Raises
    ------
    ValueError
        It belongs to another user, others may write it, or it is a symbolic link.
    OSError
        It cannot be made or opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        _make(self.path)
        self._fd = _open(self.path, os.O_RDONLY | os.O_DIRECTORY)

    def __enter__(self) -> PrivateFolder:
        """Return the folder itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Let go of it."""
        os.close(self._fd)

    def read(self, name: str) -> bytes | None:
        """Bytes of a file, or None if there is none.

        Raises
        ------
        ValueError
            It is no regular file of this user, or others may write it.
        """
        try:
            # O_NONBLOCK: a named pipe would wait for a writer.
            fd = _open(self.path / name, os.O_RDONLY | os.O_NONBLOCK, self._fd)
        except FileNotFoundError:
            return None
        with os.fdopen(fd, "rb") as file:
            return file.read()

    def holds(self, name: str) -> bool:
        """Whether there is a file of this name.

        Raises
        ------
        ValueError
            As `read`.
        """
        try:
            os.close(_open(self.path / name, os.O_RDONLY | os.O_NONBLOCK, self._fd))
        except FileNotFoundError:
            return False
        return True

    def write(self, name: str, *data: Buffer) -> None:
        """Write a file, whole or not at all; only this user can read it.

        Raises
        ------
        OSError
            It cannot be written.
        """
        with _replacing(self.path / name, self._fd, 0o600) as file:
            for piece in data:
                file.write(piece)


def cache_dir() -> Path:
    """Folder for kernels and graphs: HPCCFPGA_CACHE, else in the user's cache folder.

    Raises
    ------
    ValueError
        It is in a home folder that does not exist.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    own = Path(base if os.path.isabs(base) else "~/.cache") / "hpccfpga"
    chosen = os.environ.get("HPCCFPGA_CACHE") or own
    folder = Path(os.path.expanduser(chosen))
    if folder.parts[:1] and folder.parts[0].startswith("~"):
        raise ValueError(f"{folder}: no such home folder")
    return folder.absolute()


def opened(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file that a user names, to read it: it must be a file, and have an end.

    Raises
    ------
    FileNotFoundError, OSError
        There is none, or it cannot be opened.
    ValueError
        It is a folder, a device or a pipe, or too large.
    """
    text = os.fspath(path)  # a number would be taken for a descriptor
    # O_NONBLOCK: a named pipe would wait for a writer.
    fd = os.open(text, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        found = os.fstat(fd)
        if stat.S_ISDIR(found.st_mode):
            raise ValueError(f"{text} is a folder, not a file")
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{text} is no regular file")
        if found.st_size > LARGEST:
            raise ValueError(f"{text} has {found.st_size} B, more than {LARGEST} B")
    except ValueError:
        os.close(fd)
        raise
    return os.fdopen(fd, "rb")


def read(path: str | os.PathLike[str]) -> bytes:
    """Bytes of a file that a user names.

    Raises
    ------
    FileNotFoundError, OSError, ValueError
        As `opened`. An OSError names the file.
    """
    with opened(path) as file:
        try:
            return file.read(LARGEST)
        except OSError as error:
            raise OSError(error.errno, error.strerror, os.fspath(path)) from None


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of `path` when the block ends without error.

    It has the permissions of the file that it replaces, else those of the umask.

    Raises
    ------
    ValueError
        The path cannot be written.
    """
    path = Path(path)
    try:
        with _replacing(path, None, _mode(path)) as file:
            yield file
    except OSError as error:
        raise ValueError(_refusal(path, error)) from error


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise ValueError if `replacing` could not write there."""
    path = Path(path)
    try:
        _mode(path)
        temporary, fd = _temporary(path, None, 0o600)
        os.close(fd)
        os.unlink(temporary)
    except OSError as error:
        raise ValueError(_refusal(path, error)) from None


def _refusal(path: Path, error: OSError) -> str:
    """Why a file cannot be written."""
    if isinstance(error, FileNotFoundError) and not path.parent.exists():
        return f"cannot write {path}: there is no folder {path.parent}"
    return f"cannot write {path}: {error.strerror or error}"


def _make(path: Path) -> None:
    try:
        path.mkdir(0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        _make(path.parent)
        with suppress(FileExistsError):
            path.mkdir(0o700)


def _open(path: Path, flags: int, folder: int | None = None) -> int:
    """Open what only this user can write; `folder` holds `path`, if it is open."""
    name = path if folder is None else path.name
    kind = stat.S_ISDIR if flags & os.O_DIRECTORY else stat.S_ISREG
    if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        raise ValueError(f"{path} is a symbolic link")
    fd = os.open(name, flags | os.O_NOFOLLOW, dir_fd=folder)
    try:
        found = os.fstat(fd)
        if not kind(found.st_mode):
            raise ValueError(f"{path} is no regular file")
        if found.st_uid != os.geteuid():
            raise ValueError(f"{path} belongs to user {found.st_uid}, not to this one")
        if found.st_mode & _FOREIGN_WRITE:
            mode = stat.S_IMODE(found.st_mode)
            raise ValueError(f"{path} has mode {mode:04o}: other users may write it")
    except BaseException:
        os.close(fd)
        raise
    return fd


def _mode(path: Path) -> int | None:
    """Permissions of a file that is to be replaced; None if there is none."""
    try:
        found = path.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found):
        raise ValueError(f"cannot write {path}: it is a folder")
    if not stat.S_ISREG(found):
        raise ValueError(f"cannot write {path}: it is no regular file")
    return found & 0o777


def _temporary(path: Path, folder: int | None, mode: int | None) -> tuple[str, int]:
    """Make a file beside `path`: its name, which nothing else has, and descriptor."""
    name = f".hpccfpga-{os.urandom(8).hex()}"
    temporary = name if folder is not None else str(path.with_name(name))
    rights = 0o666 if mode is None else mode  # less the umask
    return temporary, os.open(temporary, _NEW, rights, dir_fd=folder)


@contextmanager
def _replacing(path: Path, folder: int | None, mode: int | None) -> Iterator[IO[bytes]]:
    temporary, fd = _temporary(path, folder, mode)
    try:
        with os.fdopen(fd, "wb") as file:
            if mode is not None:
                os.fchmod(fd, mode)
            yield file
        name = path if folder is None else path.name
        os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder)
        raise
