"""What is written whole or not at all, and what another user may have put there."""

import os
import stat
import threading
from errno import EIO

import pytest

import hpccfpga as hf
from example_result import measured
from hpccfpga.files import PrivateFolder, check_writable, read, replacing

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0, 0o022, 0o077])
def umask(request):
    old = os.umask(request.param)
    yield request.param
    os.umask(old)


# ---- replacing ----


def test_threads_do_not_share_a_temporary_file(tmp_path):
    """One path, four threads: each write is whole, and none fails."""
    result, failed = measured(), []

    def write():
        for _ in range(60):
            try:
                result.to_json(tmp_path / "r.json")
            except ValueError as error:
                failed.append(error)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]
    hf.Result.from_json(tmp_path / "r.json")


def test_a_link_in_the_place_of_the_temporary_file(tmp_path, monkeypatch):
    """What a foreign link leads to stays as it is."""
    monkeypatch.setattr(os, "urandom", bytes)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name in (f".hpccfpga-{'00' * 8}", f".r.json.{os.getpid()}"):
        (tmp_path / name).symlink_to(victim)
    with pytest.raises(ValueError, match=r"cannot write .*r\.json: File exists"):
        measured().to_json(tmp_path / "r.json")
    assert victim.read_text() == "mine"


def test_the_umask_decides_who_reads_a_result(tmp_path, umask):
    measured().to_json(tmp_path / "r.json")
    assert mode(tmp_path / "r.json") == 0o666 & ~umask


@pytest.mark.parametrize("own", [0o600, 0o640, 0o664])
def test_a_file_keeps_its_permissions(tmp_path, umask, own):
    path = tmp_path / "r.json"
    path.touch()
    path.chmod(own)
    seen = []
    with replacing(path) as file:
        seen = [mode(p) for p in tmp_path.iterdir()]
        file.write(b"new")
    assert seen == [own, own]
    assert mode(path) == own


def test_nothing_is_left_of_a_block_that_fails(tmp_path):
    path = tmp_path / "r"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write(b"new" + bytes(1 // 0))
    assert [p.name for p in tmp_path.iterdir()] == ["r"]
    assert path.read_text() == "old"


def begin(path):
    with replacing(path):
        pass


@pytest.mark.parametrize("write", [check_writable, begin])
def test_what_is_no_file_is_not_replaced(tmp_path, write):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to("/dev/null")
    for name in ("pipe", "null"):
        with pytest.raises(ValueError, match=f"write .*{name}: it is no regular"):
            write(tmp_path / name)
    with pytest.raises(ValueError, match="it is a folder"):
        write(tmp_path)
    with pytest.raises(ValueError, match=r"write .*gone/r: there is no folder .*gone$"):
        write(tmp_path / "gone" / "r")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["null", "pipe"]


# ---- private folders ----


def test_a_private_folder_is_private_whatever_the_umask(tmp_path, umask):
    path = tmp_path / "a" / "b"
    with PrivateFolder(path) as folder:
        assert folder.read("x") is None
        folder.write("x", b"data")
        assert folder.read("x") == b"data"
    assert [mode(p) for p in (path.parent, path, path / "x")] == [0o700, 0o700, 0o600]
    with PrivateFolder(path) as folder:
        assert folder.read("x") == b"data"


def test_a_folder_that_others_can_write(tmp_path):
    for bits in (0o770, 0o707):
        tmp_path.chmod(bits)
        with pytest.raises(ValueError, match=f"has mode {bits:04o}: other users may"):
            PrivateFolder(tmp_path)


def test_a_folder_behind_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(ValueError, match="link is a symbolic link"):
        PrivateFolder(tmp_path / "link")


def long(path):
    with path.open("wb") as file:
        file.truncate(2**31)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["show", "{}"], "{} is {}"),
        (["show", "{}.npz"], "{}.npz is {}"),
        (["compare", "{}", "{}"], "{} is {}"),
        (["plot", "{}", "-o", "x.png"], "{} is {}"),
        (["model", "b_eff", "--calibration={}"], "{} is {}"),
        (["run", "b_eff", "--kernel={}"], "kernel: {} is {}"),
        (["run", "b_eff", "--kernel={}.cl"], "kernel: {}.cl is {}"),
        (["topology", "{}.json", "--ranks=2"], "topology: {}.json is {}"),
    ],
)
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda path: os.symlink("/dev/zero", path), "no regular file"),
        (os.mkfifo, "no regular file"),
        (os.mkdir, "a folder, not a file"),
        (long, f"has {2**31} B, more than"),
    ],
)
def test_a_file_without_an_end(refused, tmp_path, words, line, make, kind):
    """All readers of files say at once that it is none."""
    name = next(word.partition("=")[2] or word for word in words if "{}" in word)
    make(tmp_path / name.format("file"))
    line = line if kind.startswith(("a", "no")) else line.replace(" is ", " ")
    refused([word.format("file") for word in words], line.format("file", kind))


def test_a_file_that_does_not_let_itself_be_read():
    """It is opened, and nothing lies at its beginning: the error names it, too."""
    with pytest.raises(OSError, match=f"{os.strerror(EIO)}: '/proc/self/mem'"):
        read("/proc/self/mem")


@as_root
def test_a_folder_of_another_user(tmp_path):
    os.chown(tmp_path, 4711, -1)
    with pytest.raises(ValueError, match="belongs to user 4711"):
        PrivateFolder(tmp_path)


def linked(path):
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def piped(path):
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("spoil", "line"),
    [
        (linked, "is a symbolic link"),
        (piped, "is no regular file"),
        (lambda path: path.chmod(0o620), "has mode 0620"),
        pytest.param(lambda path: os.chown(path, 4711, -1), "user 4711", marks=as_root),
    ],
)
def test_a_file_that_is_not_trusted(tmp_path, spoil, line):
    with PrivateFolder(tmp_path / "own") as folder:
        folder.write("x", b"data")
        spoil(folder.path / "x")
        with pytest.raises(ValueError, match=line):
            folder.read("x")


def test_files_go_by_the_folder_that_was_checked(tmp_path):
    """Another folder that takes its place is neither read nor written."""
    with PrivateFolder(tmp_path / "own") as folder:
        folder.write("x", b"mine")
        folder.path.rename(tmp_path / "moved")
        folder.path.mkdir()
        (folder.path / "x").write_bytes(b"theirs")
        assert folder.read("x") == b"mine"
        folder.write("y", b"")
    assert (tmp_path / "moved" / "y").exists()
    assert not (tmp_path / "own" / "y").exists()
