"""`python -m hpccfpga._rank FOLDER`: one of the ranks of a job, as mpirun starts it."""

import sys
from functools import partial
from pathlib import Path

from hpccfpga.entry import enter
from hpccfpga.ranks import EVENTS, attend


def main() -> int:
    """Do the job in the folder that the command line names."""
    folder = Path(sys.argv[1])
    return attend(partial(_work, folder), str(folder / EVENTS))


def _work(folder: Path) -> int:
    # Not before: the process that started mpirun waits for the first word of a rank.
    from hpccfpga.perform import perform_as_rank

    return perform_as_rank(folder)


if __name__ == "__main__":
    sys.exit(enter("hpccfpga._rank"))
