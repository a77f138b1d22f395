"""One of the ranks of a job, as mpirun starts it.

`python -m hpccfpga._rank FOLDER` does the job in a folder and leaves its results there,
`python -m hpccfpga._rank - JOB...` does a job on any machine and tells all by mpirun.
"""

import os
import sys

from hpccfpga.entry import enter  # hears Ctrl-C while all other modules are read


def main() -> int:
    """Do the job that the command line names or holds."""
    from hpccfpga.ranks import EVENTS, OUTPUT, attend

    where, *packed = sys.argv[1:]
    events = OUTPUT if where == OUTPUT else os.path.join(where, EVENTS)
    return attend(lambda: _work(where, packed), events)


def _work(where: str, packed: list[str]) -> int:
    # Not before: the process that started mpirun waits for the first word of a rank.
    from pathlib import Path

    from hpccfpga import perform

    if packed:
        return perform.perform_anywhere(packed)
    return perform.perform_as_rank(Path(where))


if __name__ == "__main__":
    sys.exit(enter("hpccfpga._rank"))
