"""Benchmarks on more ranks than there are cores, the largest grid of them 3x3."""

RUNS = """
import os
small = {"stream": {"size": 4096}, "randomaccess": {"sizes": [1024]},
         "fft": {"log_size": 6, "batch": 2}, "gemm": {"sizes": [48]}}
b_eff = "b_eff", {"sizes": [1, 99], "loop_upper": 4, "loop_lower": 1}
grids = {"sizes": [97], "block_size": 32}
matrices = [("ptrans", grids), ("ptrans", {"distribution": "diagonal", **grids}),
            ("linpack", grids)]
refined = "linpack", {"refine": "gmres", **grids}
for exchange, *runs in (("channel", b_eff, *matrices), ("host", b_eff),
                        ("pcie", b_eff, *matrices, refined)):
    with hf.open(exchange=exchange, comm=comm) as s:
        for name, given in runs:
            r = s.run(name, reps=1, **given)
            assert r.verified and r.ranks == 9, r
            told = any("share fewer cores" in n for n in r.provenance["notes"])
            assert told == (s.device["type"] == "cpu" and os.cpu_count() < 9)
with hf.open(comm=comm.Split(rank < 8)) as s:
    for shape in ("ndrange", "pipeline"):
        for name, given in small.items():
            r = s.run(name, shape=shape, reps=1, **given)
            assert r.verified and r.ranks == (8 if rank < 8 else 1), r
"""


def test_nine_ranks_verify(on_ranks):
    on_ranks(9, RUNS)
