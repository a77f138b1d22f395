"""`python -m hpccfpga`, and the command `hpccfpga`."""

import os
import signal
import sys


def _open_streams() -> None:
    """See that there are three standard streams; a shell may have closed some.

    Else the next file that is opened takes the place of one of them.
    """
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    for name, fd in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(fd, "w", closefd=False))  # noqa: SIM115


def main() -> int:
    """Run the command; Ctrl-C while modules are read gives no traceback."""
    _open_streams()
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from hpccfpga import _core, cli  # noqa: F401

    try:
        signal.signal(signal.SIGINT, before)
        return cli.main()
    except KeyboardInterrupt:  # before or after its work
        return cli.INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
