"""Kernels: compiled once and cached; what happens to a cache."""

import errno
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import GUARD, QUICKLY
from filelock import FileLock

import hpccfpga as hf
from counting_core import Core
from hpccfpga import emulation, files, kernels


def entries(cache):
    return sorted(p.name for p in cache.iterdir() if p.suffix == ".bin")


# ---- the cache ----


def test_each_build_has_a_folder_of_its_own():
    """In PoCL's cache: another process may just write into that of the same text."""
    text = "__kernel void a(__global int *x) { x[0] = 1; }"
    with hf.open("opencl:cpu") as session:
        first, second = (kernels._built(session._core, "x", text, "") for _ in "ab")
    assert first != second, "the folder's name is in the binary"


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("HPCCFPGA_CACHE", "~/here")
    assert files.cache_dir() == Path.home() / "here"
    monkeypatch.delenv("HPCCFPGA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert files.cache_dir() == tmp_path / "hpccfpga"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert files.cache_dir() == Path.home() / ".cache" / "hpccfpga"


def test_compiled_once(cache):
    core = Core()
    first = kernels.load(core, "b_eff", {})
    second = kernels.load(Core(), "b_eff", {"channel_width": "32"})
    assert first == second
    assert first.stem == "b_eff_memory"
    assert [options for _, options in core.built] == ["-DHF_CHANNEL_WIDTH=32"]
    assert first.manifest["knobs"] == {"channel_width": 32}
    assert len(entries(cache)) == 1


def test_those_that_pass_messages_on_are_compiled_once(cache):
    core = Core()
    assert kernels.relay(core) == kernels.relay(core)
    ((source, options),) = core.built
    assert "relay_probe" in source
    assert options == ""
    assert [name.partition("-")[0] for name in entries(cache)] == ["relay_ndrange"]


def test_it_is_told_before_they_are_compiled(cache, monkeypatch):
    core = Core()
    told = []

    def compiling():
        told.append(len(core.built))

    kernels.load(core, "b_eff", {}, compiling=compiling)
    kernels.load(core, "b_eff", {}, compiling=compiling)
    assert told == [0]
    kernels.load(core, "b_eff", {"channel_width": 64}, compiling=compiling)
    monkeypatch.setenv("HPCCFPGA_CACHE", "/dev/null/none")
    kernels.load(core, "b_eff", {}, compiling=compiling)
    core.prelude = "int pipe;"
    kernels.load(core, "b_eff", {}, compiling=compiling)
    assert told == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("device", "params"),
    [
        ({}, {"channel_width": 64}),
        ({"name": "Other"}, {}),
        ({"platform": "Other"}, {}),
        ({"driver": "3"}, {}),
        ({"version": "2"}, {}),
    ],
)
def test_another_request_is_another_entry(cache, device, params):
    kernels.load(Core(), "b_eff", {})
    core = Core(**device)
    kernels.load(core, "b_eff", params)
    assert len(core.built) == 1
    assert len(entries(cache)) == 2


def test_another_source_is_another_entry(cache, tmp_path):
    file = tmp_path / "mine.cl"
    for text in ("int a;\n", "int b;\n"):
        file.write_text(text)
        core = Core()
        kernels.load(core, "b_eff", {}, file)
        assert len(core.built) == 1
    assert len(entries(cache)) == 2


def spoil_truncate(binary, manifest):
    binary.write_bytes(binary.read_bytes()[:-1])


def spoil_flip(binary, manifest):
    binary.write_bytes(b"?" + binary.read_bytes()[1:])


def spoil_empty(binary, manifest):
    binary.write_bytes(b"")


def spoil_no_manifest(binary, manifest):
    manifest.unlink()


def spoil_no_binary(binary, manifest):
    binary.unlink()


def spoil_half_manifest(binary, manifest):
    manifest.write_bytes(manifest.read_bytes()[:40])


def spoil_other_manifest(binary, manifest):
    text = manifest.read_text()
    manifest.write_text(text.replace('"driver": "2"', '"driver": "1"'))


def spoil_swapped(binary, manifest):
    """An entry of another version of the device in its place, whole in itself."""
    kernels.load(Core(version="0"), "b_eff", {})
    (other,) = (p for p in binary.parent.glob("*.bin") if p != binary)
    other.replace(binary)
    Path(f"{other}.json").replace(manifest)


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_truncate,
        spoil_flip,
        spoil_empty,
        spoil_no_manifest,
        spoil_no_binary,
        spoil_half_manifest,
        spoil_other_manifest,
        spoil_swapped,
    ],
)
def test_a_bad_entry_is_rebuilt(cache, spoil):
    good = kernels.load(Core(), "b_eff", {})
    binary = cache / entries(cache)[0]
    spoil(binary, Path(f"{binary}.json"))
    core = Core()
    assert kernels.load(core, "b_eff", {}) == good
    assert len(core.built) == 1
    assert kernels.load(core, "b_eff", {}) == good
    assert len(core.built) == 1


def test_many_at_once_build_once(cache, tmp_path):
    log = tmp_path / "log"
    script = textwrap.dedent(f"""
        import sys, time
        sys.path[:0] = {[str(p) for p in Path(__file__).parents[:2]]!r}
        from counting_core import Core
        from hpccfpga import kernels
        class Slow(Core):
            def build(self, source, options, quiet=False):
                open({str(log)!r}, "a").write("built\\n")
                time.sleep(0.5)
                return super().build(source, options)
        print(kernels.load(Slow(), "b_eff", {{}}).manifest["binary_hash"])
    """)
    processes = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    hashes = {process.communicate(timeout=GUARD)[0] for process in processes}
    assert len(hashes) == 1
    assert log.read_text() == "built\n"


def test_a_lock_that_stays(cache, monkeypatch):
    kernels.load(Core(), "b_eff", {})
    binary = cache / entries(cache)[0]
    binary.unlink()
    monkeypatch.setattr(kernels, "LOCK_DEADLINE", 0.2)
    with (
        FileLock(f"{binary}.lock"),
        pytest.raises(hf.Error, match=r"waited 0\.2 s .* to build .*b_eff_memory"),
    ):
        kernels.load(Core(), "b_eff", {})


def test_a_cache_that_cannot_be_made(monkeypatch, tmp_path):
    """The run works, and one line says why it took long."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("HPCCFPGA_CACHE", str(tmp_path / "file" / "x"))
    core = Core()
    note = kernels.load(core, "b_eff", {}).note
    assert len(core.built) == 1
    assert f"{tmp_path}/file/x: Not a directory; set HPCCFPGA_CACHE to" in note
    assert "\n" not in note
    result = hf.run("b_eff", sizes=[8], reps=1, loop_upper=8)
    assert result.verified
    assert f"note: {note}" in str(result).splitlines()


def test_a_cache_on_a_full_disk(cache, monkeypatch):
    def fails(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.PrivateFolder, "write", fails)
    core = Core()
    kernel = kernels.load(core, "b_eff", {})
    assert "No space left on device" in kernel.note
    assert len(core.built) == 1
    assert not entries(cache)


def test_a_full_disk_for_pocl(monkeypatch):
    """It would abort the process, or say that the kernels do not compile."""
    monkeypatch.setattr(emulation, "ROOM", 2**60)
    with hf.open("opencl:cpu") as session:
        if "Portable" not in session.device["platform"]:
            pytest.skip("another runtime than PoCL")
        line = r"^/.* has room for \d+ B and .*; PoCL needs .*: set POCL_CACHE_DIR$"
        with pytest.raises(hf.Error, match=line):
            session.run("b_eff", sizes=[1], reps=1)
    assert hf.run("b_eff", exchange="host", sizes=[1], reps=1).verified


def test_a_cache_that_can_only_be_read(cache, monkeypatch):
    """What it holds is used; what it lacks is built each time."""
    full = kernels.load(Core(), "b_eff", {})

    def fails(*arguments):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(FileLock, "_acquire", fails)
    core = Core()
    assert kernels.load(core, "b_eff", {}) == full
    assert core.built == []
    kernel = kernels.load(core, "b_eff", {"channel_width": 64})
    assert "Read-only file system" in kernel.note
    assert len(core.built) == 1


def test_a_cache_that_others_can_write_is_refused(cache):
    kernels.load(Core(), "b_eff", {})
    core = Core()
    for path in (cache, *cache.glob("*.bin*[!k]")):
        mode = path.stat().st_mode
        path.chmod(mode | 0o020)
        line = f"^kernel cache: {path} has mode 0...: .*; set HPCCFPGA_CACHE to"
        with pytest.raises(ValueError, match=line):
            kernels.load(core, "b_eff", {})
        path.chmod(mode)
    assert core.built == []


def test_a_home_that_does_not_exist(monkeypatch):
    monkeypatch.setenv("HPCCFPGA_CACHE", "~nobody-here/cache")
    with pytest.raises(ValueError, match="~nobody-here/cache: no such home folder"):
        kernels.load(Core(), "b_eff", {})


def test_a_real_entry_that_is_corrupt(cache):
    script = textwrap.dedent("""
        import os
        from hashlib import sha256
        from pathlib import Path
        import hpccfpga as hf

        for _ in range(3):
            result = hf.run("b_eff", sizes=[8], reps=1, loop_upper=8)
            assert result.verified
            told = result.provenance["kernel"]["binary_hash"]
            (binary,) = Path(os.environ["HPCCFPGA_CACHE"]).glob("*.bin")
            assert told == sha256(binary.read_bytes()).hexdigest()
            binary.write_bytes(os.urandom(1000))
    """)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | QUICKLY,
        stderr=subprocess.PIPE,
        text=True,
        timeout=GUARD,
    )
    assert done.returncode == 0, done.stderr
