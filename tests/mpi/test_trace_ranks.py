"""Traces of runs: what happens when, on every rank."""

import pytest

# Lanes hold no overlap, spans lie in their rank's sample, samples are those of `time`.
SOUND = """
import numpy as np
def sound(r):
    t = r.trace
    slack = 2 * r.summary['device_clock_error'].value + 2e-6
    assert (t['end'] >= t['start']).all()
    assert (t['start'] >= -slack).all()
    for point in range(len(r['time'])):
        lengths = []
        for rank in range(size):
            here = t.where((t['point'] == point) & (t['rank'] == rank))
            whole = here.where(here['kind'] == 'sample')
            assert len(whole) == 1 and whole['queue'][0] == -2
            lengths.append((whole['end'] - whole['start'])[0])
            parts = here.where(here['kind'] != 'sample')
            assert (parts['start'] >= whole['start'] - slack).all()
            assert (parts['end'] <= whole['end'] + slack).all()
            for queue in np.unique(parts['queue']):
                lane = parts.where(parts['queue'] == queue)
                late = lane['start'][1:] - lane['end'][:-1]
                assert (late >= -1e-9).all(), (point, rank, queue, late.min())
        took = r['time'][point] * r['inner'][point]
        assert abs(max(lengths) - took) < 1e-9 + 1e-6 * took, (lengths, took)
    assert r.summary['rank_clock_error'].value == 0
    assert not any('trace' in note for note in r.provenance['notes'])
"""


@pytest.mark.parametrize("device", ["opencl", "host"])
def test_a_step_over_pcie_reads_then_sends_then_writes(on_ranks, device):
    on_ranks(
        2,
        SOUND
        + f"r = hf.run('b_eff', device='{device}', comm=comm, sizes=[64, 65536],\n"
        "           loop_upper=8, loop_lower=8, reps=3, trace=True)\n"
        "assert r.verified and r.trace, r\n"
        "sound(r)\n"
        "for point, length in enumerate((64, 65536)):\n"
        "    for rank in range(2):\n"
        "        t = r.trace\n"
        "        t = t.where((t['point'] == point) & (t['rank'] == rank))\n"
        "        t = t.where(t['kind'] != 'sample')\n"
        "        inner = r['inner'][point]\n"
        "        assert t['kind'].tolist() == ['read', 'message', 'write'] * inner\n"
        "        assert t['queue'].tolist() == [0, -1, 0] * inner\n"
        "        assert (t['bytes'] == length).all()\n"
        "        labels = set(t['label'][t['kind'] == 'message'])\n"
        "        assert labels == {f'with {1 - rank}'}, labels\n"
        "        assert (t['start'][1:] >= t['end'][:-1] - 1e-9).all()\n"
        "    # a message is on both ranks at once\n"
        "    t = r.trace.where(r.trace['kind'] == 'message')\n"
        "    t = t.where(t['point'] == point)\n"
        "    a, b = t.where(t['rank'] == 0), t.where(t['rank'] == 1)\n"
        "    assert (a['start'] < b['end']).all() and (b['start'] < a['end']).all()",
    )


@pytest.mark.parametrize("exchange", ["host", "channel"])
def test_other_schemes_are_traced(on_ranks, exchange):
    on_ranks(
        2,
        SOUND + f"r = hf.run('b_eff', exchange='{exchange}', comm=comm, sizes=[64],\n"
        "           loop_upper=8, reps=3, trace=True)\n"
        "assert r.verified, r\n"
        "sound(r)\n"
        "kinds = set(r.trace['kind'])\n"
        f"if '{exchange}' == 'host':\n"
        "    assert kinds == {'sample', 'message', 'wait'}, kinds\n"
        "else:  # kernels run beside each other, each in a queue of its own\n"
        "    k = r.trace.where(r.trace['kind'] == 'kernel')\n"
        "    k = k.where(k['rank'] == 0)\n"
        "    assert len(set(k['queue'])) == len(k) > 1, k['queue']\n"
        "    assert all(name.startswith('b_eff_') for name in k['label'])\n"
        "    for pair in '01':  # pairs need not meet, and threads may begin late\n"
        "        own = k.where(np.char.endswith(k['label'], pair))\n"
        "        assert len(own) == 2 and own['start'].max() < own['end'].min(), own",
    )


def test_a_trace_changes_nothing_that_is_verified(on_ranks):
    on_ranks(
        2,
        "import numpy as np\n"
        "for name in hf.benchmarks().names:\n"
        "    known = hf.benchmarks()[name]['parameters'].names\n"
        "    small = {'sizes': [512], 'size': 4096, 'graph': 'kron:7'}\n"
        "    few = {'reps': 1} | {k: v for k, v in small.items() if k in known}\n"
        "    plain = hf.run(name, comm=comm, **few)\n"
        "    traced = hf.run(name, comm=comm, trace=True, **few)\n"
        "    assert plain.verified and traced.verified, (plain, traced)\n"
        "    assert plain.trace is None and len(traced.trace) > 0\n"
        "    own = set(traced.summary) - set(plain.summary)\n"
        "    assert own - {'hidden'} == {'device_clock_error', 'rank_clock_error'}\n"
        "    kinds = traced.trace['kind']\n"
        "    both = np.isin(kinds, hf.traces.EXCHANGE).any() and 'kernel' in kinds\n"
        "    assert ('hidden' in own) == both, (name, own)\n"
        "    share = hf.traces.hidden(traced.trace)\n"
        "    assert not both or traced.summary['hidden'].value == share\n"
        "    assert list(plain.columns) == list(traced.columns)",
    )


def test_what_finds_no_room_is_told(on_ranks):
    on_ranks(
        2,
        "r = hf.run('b_eff', comm=comm, sizes=[64], loop_upper=8,\n"
        "           loop_lower=8, reps=2, trace=5)\n"
        "assert r.verified and len(r.trace) == 2 * 6, repr(r.trace)\n"
        "(note,) = [n for n in r.provenance['notes'] if 'trace' in n]\n"
        "lost = 2 * (3 * r['inner'][0] - 5)\n"
        "assert note.startswith(f'trace: {lost} spans found no room'), note",
    )


def test_the_command_records_on_ranks_of_its_own(command, tmp_path):
    import hpccfpga as hf

    path = tmp_path / "r.json"
    done = command(
        *[
            "run",
            "b_eff",
            "--ranks",
            "2",
            "--sizes",
            "64",
            "--reps",
            "2",
            "--trace",
            "--quiet",
            "--json",
        ],
        path,
    )
    assert done.returncode == 0, done.stderr
    assert "device_clock_error" in done.stdout
    found = hf.Result.from_json(path)
    assert set(found.trace["kind"]) == {"sample", "read", "message", "write"}
