"""`python -m hpccfpga._rank FOLDER`: one of the ranks of a job, as mpirun starts it."""

import os
import sys

from hpccfpga.entry import enter  # hears Ctrl-C while all other modules are read


def main() -> int:
    """Do the job in the folder that the command line names."""
    from hpccfpga.ranks import EVENTS, attend

    folder = sys.argv[1]
    return attend(lambda: _work(folder), os.path.join(folder, EVENTS))


def _work(folder: str) -> int:
    # Not before: the process that started mpirun waits for the first word of a rank.
    from pathlib import Path

    from hpccfpga.perform import perform_as_rank

    return perform_as_rank(Path(folder))


if __name__ == "__main__":
    sys.exit(enter("hpccfpga._rank"))
