"""How a program of this package begins."""

import gc
import importlib
import os
import signal
import sys


def enter(module: str) -> int:
    """Call the `main` of a module and return its exit code.

    Ctrl-C while modules are read gives no traceback. After a failure a runtime's
    threads may still work, for one on a kernel that does not end: destructors would
    take from them what they use, and the process crash. So none runs then.
    """
    before = signal.getsignal(signal.SIGINT)
    if before != signal.SIG_IGN:  # as for what a shell runs in the background
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from hpccfpga.errors import FAILED, INTERRUPTED, line, outdated

    _open_streams()
    gc.disable()  # modules stay: to look for garbage among them is a quarter of a start
    try:
        importlib.import_module("hpccfpga._core")
    except ImportError as error:  # such as for a library of MPI that is not there
        print(f"hpccfpga: its extension does not load: {line(error)}", file=sys.stderr)
        return FAILED
    try:
        main = importlib.import_module(module).main
    except AttributeError as error:
        if not outdated(error):
            raise
        print(f"hpccfpga: {line(error)}", file=sys.stderr)
        return FAILED
    gc.freeze()
    gc.enable()
    try:
        signal.signal(signal.SIGINT, before)
        code = int(main())
    except KeyboardInterrupt:  # before or after its work
        return INTERRUPTED
    if code == FAILED or code > 128:
        os._exit(code)
    return code


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
