"""Faults in the kernels of vertex programs, and whether runs see them."""

import pickle

from conftest import QUICKLY, ROOT
from harms import broken, faulty

FOUND = r"superstep \d+.*|program sssp: the path to vertex \d+ is longer.*"
"""An error by which a check of supersteps or of lengths tells of a fault."""


def break_kernels(folder, old, new):
    """Put one fault into a copy of the kernels, where a test looks at results."""
    return broken(folder, "graph_ndrange.cl", (old, new), among="graph_*")


RUNS = """
import pickle, re, reprlib, sys, warnings
from harms import done
warnings.simplefilter("ignore", hf.VerificationWarning)
def outcome(session, faults, fault, params):
    with done(faults, fault):
        try:
            r = session.run("graph", **params)
        except (ValueError, hf.Error) as error:
            return str(error)
    return "verified" if r.verified else "not verified"
with open(f"{FOLDER}/runs.{size}", "rb") as file:
    runs = pickle.load(file)
wrong = []
with hf.open("opencl:cpu", comm=comm) as session:
    for faults, fault, expected, params in runs:
        print(fault or "no fault", file=sys.stderr, flush=True)
        got = outcome(session, faults, fault, params)
        if not re.fullmatch(expected, got, re.DOTALL):
            given = {name: reprlib.repr(value) for name, value in params.items()}
            wrong.append((fault or given, got))
assert not wrong, wrong
"""


def faults_are_seen(
    on_ranks,
    folder,
    faults,
    *,
    file="graph_ndrange.cl",
    above=None,
    errors=None,
    **params,
):
    """Run with each fault in the kernels: not verified, or an error that tells of it.

    All faults of a program are in one build, in which each is done by its number. The
    same runs verify with none of them done, before and behind all.

    Parameters
    ----------
    on_ranks : fixture
    folder : Path
        Where the kernels go.
    faults : dict of str to (str or Path, dict, str, str)
        By name, a program, what else is given, a passage of the kernels, and what
        stands in its place, as for `harms.faulty`.
    file : str, optional
        Of the kernels.
    above : str, optional
        Text of a kernel file that includes this one, and that is run in its place.
    errors : dict of str to str, optional
        By name, a pattern of what the error must tell.
    **params
        What all runs are given.
    """
    errors = errors or {}
    assert faults
    assert errors.keys() <= faults.keys()
    runs = {}
    programs = dict.fromkeys(program for program, *_ in faults.values())
    for number, program in enumerate(programs):
        own = {name: rest for name, (of, *rest) in faults.items() if of == program}
        place = folder / str(number)
        place.mkdir()
        passages = {name: (old, new) for name, (_, old, new) in own.items()}
        kernel = faulty(place, file, passages, among="graph_*")
        if above:
            kernel = place / "above.cl"
            kernel.write_text(above)
        usual = {
            "kernel": str(kernel),
            "program": str(program),
            "graph": "grid:8",
            "source": 5 if program in ("bfs", "sssp") else -1,
            "shape": "ndrange",
            "reps": 2,
            "deadline": 60,
        }
        for name, (given, *_) in own.items():
            asked = usual | given | params
            of_ranks = runs.setdefault(asked.pop("ranks", 1), [])
            control = [*own], None, "verified", asked
            if control not in of_ranks:
                of_ranks.append(control)
            expected = f"not verified|{FOUND}"
            if name in errors:
                expected = f"(?={FOUND}).*{errors[name]}.*"
            of_ranks.append(([*own], name, expected, asked))
    for ranks, each in runs.items():
        controls = [run for run in each if run[1] is None]
        (folder / f"runs.{ranks}").write_bytes(pickle.dumps(each + controls))
        script = f"FOLDER = {str(folder)!r}\n{RUNS}"
        on_ranks(ranks, script, PYTHONPATH=str(ROOT / "tests"), **QUICKLY)
