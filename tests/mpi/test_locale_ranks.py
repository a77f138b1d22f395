"""A process that has set its locale, as Qt does, and whose decimal point is a comma."""

import shutil
import subprocess

import pytest
from conftest import ours, python

SET = "import locale\nlocale.setlocale(locale.LC_NUMERIC, 'comma')\n"
NUMERIC = 'decimal_point ","\nthousands_sep "."\ngrouping 3\n'
SOURCE = f"LC_NUMERIC\n{NUMERIC}END LC_NUMERIC\n"


@pytest.fixture(scope="module")
def comma(tmp_path_factory):
    """The environment in which there is such a locale."""
    if not shutil.which("localedef"):
        pytest.skip("no localedef, which makes a locale with a decimal comma")
    folder = tmp_path_factory.mktemp("locales")
    (folder / "source").write_text(SOURCE)
    make = ["localedef", "-c", "-i", folder / "source", folder / "comma"]
    subprocess.run(make, stderr=subprocess.DEVNULL, timeout=60, check=False)
    if not (folder / "comma" / "LC_NUMERIC").exists():
        pytest.skip("localedef made no locale with a decimal comma")
    return {"LOCPATH": str(folder)}


def test_numbers_have_points(comma):
    """Defaults and lists, which are text, and numbers in messages."""
    script = (
        "import hpccfpga as hf\n"
        "r = hf.run('b_eff', exchange='host', sizes='1,1e1', reps=0, time_limit=0.25)\n"
        "print(f'{1.5:n}', r['message_size'].tolist(), r.verified)\n"
        "try: hf.run('b_eff', exchange='host', deadline=0.001)\n"
        "except ValueError as error: print(error)\n"
    )
    answer = python(SET + script, **comma)
    assert answer.stdout.splitlines() == [
        "1,5 [1, 10] True",
        "deadline: 0.001 is not within 0.01 .. 1e+06",
    ], ours(answer.stderr)


def test_ranks_of_two_locales_have_the_same_numbers(mpirun, comma):
    script = (
        f"if rank: exec({SET!r})\n"
        "words = dict(exchange='host', comm=comm, sizes=[1], reps=2, time_limit=0.25)\n"
        "say(rank, f'{0.25:n}', hf.run('b_eff', **words).verified)\n"
    )
    answer = mpirun(2, script, **comma)
    assert sorted(answer.stdout.splitlines()) == ["0 0.25 True", "1 0,25 True"]
