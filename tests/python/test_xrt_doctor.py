"""What `doctor` tells of Xilinx's cards."""

import os
from threading import Thread

import pytest
from conftest import python

from hpccfpga import _core, components, doctor
from xrt_session import head, link

pytest_plugins = ["xrt_session"]

FAILED = "no device of xrt: "
BUSY = {"runtime": "xrt", "index": 0, "name": "card 0, busy", "version": ""}
CARDS = [BUSY | {"platform": "XRT", "driver": "2.16.204"}]


def driver_files(folder, files):
    """What a driver tells of cards, by their paths."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_doctor_tells_of_cards_what_the_driver_does(monkeypatch, tmp_path):
    card, other = "0000:3b:00.1", "0000:3c:00.1"
    files = {"xclbinuuid": "abc\n", "ready": "1\n", "xmc.u.1/xmc_power": "23500000\n"}
    files["nodma"] = "1\n"
    driver_files(tmp_path / card, files)
    driver_files(tmp_path, {"version": "2.13.466,abc\n"})
    monkeypatch.setattr(doctor, "PCI", tmp_path)
    monkeypatch.setattr(doctor, "XOCL", tmp_path / "version")
    monkeypatch.setattr(doctor, "PATIENCE", 3)
    told = doctor._states([card])[card]
    says = ", driver xocl 2.13.466,abc, xclbin abc, ready"
    assert told == f"{says}, without DMA, which is not supported, 23.5 W"
    driver_files(tmp_path / card, {"xmc.u.1/xmc_power": "0\n"})
    assert not doctor._states([card])[card].endswith("W"), "nothing measures it"
    driver_files(tmp_path / card, files)
    os.mkfifo(tmp_path / card / "interface_uuids")
    assert doctor._states([card])[card] == told, "it is left without an answer"
    (tmp_path / "version").unlink()
    assert doctor._states([other])[other].endswith("is the driver xocl loaded?")


def test_silent_files_of_drivers_have_one_deadline(monkeypatch, tmp_path):
    waits = []

    class Watched(Thread):
        def join(self, timeout=None):
            waits.append(timeout)
            super().join(timeout)

    monkeypatch.setattr(doctor, "Thread", Watched)
    monkeypatch.setattr(doctor, "PATIENCE", 0.2)
    paths = [tmp_path / str(i) for i in range(3)]
    for path in paths:
        os.mkfifo(path)
    assert doctor._said(paths) == {}
    assert 0 < waits[0] <= 0.2
    assert max(waits[1:]) < 0.01


def test_doctor_lists_cards_or_says_why_not(command, setting, without):
    more = {"HF_STANDIN_CARDS": "2", "HF_STANDIN_BUSY": "1"}
    answer = command("doctor", **setting, **more)
    assert f"ok       device xrt:0: {link.SHELL}\n         0000:3b" in answer.stdout
    assert "lacking  device xrt:1: card 1, busy; XRT" in answer.stdout
    answer = command("doctor", **without)
    assert "optional Xilinx cards: no XRT: libxrt_coreutil.so.2 is" in answer.stdout
    for wrong, line in (
        (setting | {"HF_STANDIN_CARDS": "0"}, "no Xilinx card: XRT"),
        (setting | {"XCL_EMULATION_MODE": "hw_emu"}, f"{FAILED}XCL_EMULATION_MODE="),
        (without | {"XILINX_XRT": "/nowhere"}, "no XRT: libxrt_coreutil.so.2 is"),
    ):
        answer = command("doctor", **wrong)
        assert f"lacking  Xilinx cards: {line}" in answer.stdout
        assert answer.stdout.count(line) == 1


@pytest.mark.parametrize("there", [[], CARDS])
def test_doctor_says_why_cards_were_not_listed(capsys, monkeypatch, there):
    """What was seen then, without asking a library again that may be stuck."""
    line = f"{FAILED}xrtDeviceOpen has not ended within 60 s"
    monkeypatch.setattr(components, "survey", lambda: (there, {"xrt": line}))
    monkeypatch.setattr(_core, "Session", None)
    doctor._examine_devices(doctor._Findings())
    told = capsys.readouterr().out
    assert told.count(f"lacking  Xilinx cards: {line}\n") == 1
    assert told.count("Xilinx cards") == 1


def test_doctor_and_a_run_read_the_same_files(folder, setting, tmp_path):
    """Those of the card's address are where XRT says that its driver's are."""
    address = "0000:3b:00.1"
    driver_files(tmp_path / "0", {"ready": "1\n", "xmc.u.1/xmc_power": "23500000\n"})
    (tmp_path / address).symlink_to(tmp_path / "0")
    script = (
        f"{head(folder)}\n"
        "from pathlib import Path\n"
        "from hpccfpga import doctor\n"
        f"doctor.PCI, doctor.XOCL = Path({str(tmp_path)!r}), Path('/none')\n"
        "doctor.PATIENCE = 20\n"
        "doctor.examine()\n"
        "with hf.open('xrt') as session:\n"
        "    print('drawn', measured(session, 'stream')['power'][0])"
    )
    answer = python(script, HF_STANDIN_SYSFS=str(tmp_path), **setting)
    assert f"         {address}, XRT, ready, 23.5 W\n" in answer.stdout, answer.stderr
    assert "drawn 23.5\n" in answer.stdout


def test_doctor_tells_of_cards_that_xrt_does_not(capsys, monkeypatch, tmp_path):
    """Of those that the driver has: one that is busy has no address by XRT."""
    driver_files(tmp_path / "devices" / "0000:3c:00.1", {"ready": "0\n"})
    (tmp_path / "drivers" / "xocl" / "0000:3c:00.1").mkdir(parents=True)
    monkeypatch.setattr(doctor, "PCI", tmp_path / "devices")
    monkeypatch.setattr(doctor, "XOCL", tmp_path / "none")
    doctor._examine_cards(doctor._Findings(), CARDS)
    assert capsys.readouterr().out.splitlines() == [
        "lacking  device xrt:0: card 0, busy; XRT 2.16.204",
        "         0000:3c:00.1, which XRT does not tell of, not ready",
    ]
