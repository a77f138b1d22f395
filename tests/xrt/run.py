"""Run a C test over the stand-in: run.py FOLDER PROGRAM [ARGUMENTS...].

The program gets the path of an xclbin behind its arguments: kernels `gate`, which runs
until the program lets it, `echo`, of two units in two memories, the second one first,
`apart`, whose units are called otherwise, and `wide`, with more arguments than are
supported.
"""

import os
import subprocess
import sys
from pathlib import Path

import link

CODE = """
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
extern volatile int gate_is_open; /* of the program */
static void gate_call(void *const *args, size_t items) {
    while (!__atomic_load_n(&gate_is_open, __ATOMIC_ACQUIRE))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    (*(uint32_t **)args[0])[1] = *(uint32_t *)args[1];
}
static void echo_call(void *const *args, size_t items) {
    char *out = *(char **)args[0];
    memcpy(out, args[1], 4);
    memcpy(out + 8, args[2], 8);
    memcpy(out + 16, args[3], 4);
    memcpy(out + 24, args[4], 8);
}
static void apart_call(void *const *args, size_t items) {}
static void wide_call(void *const *args, size_t items) {}
"""
POINTER = ("words", "void*", 8, True)
KERNELS = [
    ("gate", [POINTER, ("value", "uint", 4, False)], ["gate"]),
    (
        "echo",
        [
            POINTER,
            ("single", "float", 4, False),
            ("twice", "double", 8, False),
            ("number", "uint", 4, False),
            ("large", "ulong", 8, False),
        ],
        ["echo_2", "echo_1"],
    ),
    ("apart", [POINTER], ["left", "right"]),
    ("wide", [(f"value{i}", "uint", 4, False) for i in range(21)], ["wide"]),
]
SPOTS = [
    ("gate.words", "HBM[0:1]"),
    ("echo_1.words", "HBM[0]"),
    ("echo_2.words", "HBM[1]"),
    ("left.words", "DDR[0]"),
    ("right.words", "DDR[1]"),
]


def main(folder, program, *arguments):
    (folder / "lib").mkdir(parents=True, exist_ok=True)
    link.build(folder)
    bits = link.compiled(
        CODE + link.table(["gate", "echo", "apart", "wide"]), folder / "bitstream.so"
    )
    path = folder / "test.xclbin"
    path.write_bytes(link.pack(link.described(KERNELS, SPOTS, bits)))
    environment = os.environ | {"XILINX_XRT": str(folder), "HF_STANDIN_CARDS": "4"}
    command = [program, *arguments, str(path)]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(abs(main(Path(sys.argv[1]), *sys.argv[2:])))
