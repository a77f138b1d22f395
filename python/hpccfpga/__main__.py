"""`python -m hpccfpga`, and the command `hpccfpga`."""

import sys

from hpccfpga.entry import enter


def main() -> int:
    """Run the command."""
    return enter("hpccfpga.cli")


if __name__ == "__main__":
    sys.exit(main())
