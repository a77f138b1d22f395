"""What kernels make and check by one formula: the host looks at some by its own."""

import pytest
from harms import broken

import hpccfpga as hf

BYTES = "(h >> 24) + 47 * window", "0 * window"
ELEMENTS = "(int)(h ^ h >> 13)", "(int)key"
MATRIX = "(int)linpack_hash(row, column, key) >> 8", "0"
SOLUTION = "column < n ? size : 0", "0"


@pytest.mark.parametrize(("kernel", "exchange", "planted", "sizes"), [
    ("b_eff_memory", "pcie", BYTES, [1, 65536]),
    ("ptrans_ndrange", "pcie", ELEMENTS, [256]),
    ("ptrans_stream", "channel", ELEMENTS, [256]),
    ("linpack_ndrange", "pcie", MATRIX, [256]),
    ("linpack_ndrange", "pcie", SOLUTION, [256]),
    ("linpack_stream", "channel", MATRIX, [256]),
])  # fmt: skip
def test_a_poor_formula_is_seen(tmp_path, kernel, exchange, planted, sizes):
    path = broken(tmp_path, f"{kernel}.cl", planted, among="*.[ch]*")
    params = {"exchange": exchange, "kernel": path, "sizes": sizes, "reps": 1}
    with pytest.warns(hf.VerificationWarning):
        assert not hf.run(kernel.rpartition("_")[0], **params).verified
