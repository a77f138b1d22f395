"""Files that version 0.1 wrote, which every later version reads."""

from pathlib import Path

import pytest

import hpccfpga as hf
from hpccfpga.suite import Suite

SAVED = Path(__file__).parent / "saved"


@pytest.mark.parametrize("ending", ["json", "npz"])
def test_a_result(call, tmp_path, ending):
    path = SAVED / f"result_0_1.{ending}"
    read = hf.Result.from_json if ending == "json" else hf.Result.from_npz
    result = read(path)
    assert result.provenance["versions"]["hpccfpga"] == "0.1.0"
    assert (result.benchmark, result.ranks, result.verified) == ("b_eff", 2, True)
    assert result["samples"].shape == (3, 6, 2)
    assert result["message_size"].tolist() == [1, 64, 1024]
    assert hf.compare(result, result).changed == []
    hf.plot(result, path=tmp_path / "r.png")
    assert call("show", path)[0] == 0


def test_a_failed_run(call):
    result = hf.Result.from_json(SAVED / "failed_0_1.json")
    assert result.parameters == {"sizes": "0"}
    code, out, _ = call("show", SAVED / "failed_0_1.json")
    assert code == 2
    assert "FAILED: sizes: 0 is not within" in out


def test_a_suite(call, tmp_path):
    suite = Suite.from_json(SAVED / "suite_0_1.json")
    assert len(suite.results) == 6
    assert suite.models
    assert set(hf.compare(suite, suite)) == set(suite.results)
    hf.plot(suite, path=tmp_path / "s.png")
    assert call("show", SAVED / "suite_0_1.json")[0] == 0
