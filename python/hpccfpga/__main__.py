"""`python -m hpccfpga` is the command `hpccfpga`."""

import sys

from hpccfpga.cli import main

sys.exit(main())
