"""`python -m hpccfpga._rank FOLDER`: one of the ranks of a job, as mpirun starts it."""

import sys

from hpccfpga.entry import enter

if __name__ == "__main__":
    sys.exit(enter("hpccfpga.perform"))
