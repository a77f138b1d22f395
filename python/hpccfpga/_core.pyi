from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypedDict, final

from numpy import bool_, float64, int64, intp, str_, uint32, uint64, void
from numpy.typing import ArrayLike, NDArray

AUTO: str
SCHEME: str
VERSION: str

class Error(RuntimeError): ...

class _Device(TypedDict):
    runtime: str
    platform: str
    name: str
    version: str
    driver: str
    index: int
    type: Literal["cpu", "gpu", "accelerator"]
    emulated: bool
    memory: int
    max_alloc: int
    half: bool
    fp64: bool

class _Parameter(TypedDict):
    name: str
    summary: str
    kind: Literal["int", "real", "text", "ints", "reals"]
    default: str
    choices: list[str] | None
    macro: str | None
    low: float
    high: float

class _Argument(TypedDict):
    name: str
    kind: Literal["read", "shared", "write", "value", "in", "out"]
    bytes: int
    depth: int

class _Kernel(TypedDict):
    name: str
    replicated: bool
    arguments: list[_Argument]

class _Term(TypedDict):
    unit: str
    summary: str
    fact: str | None
    fallback: float
    param: str
    zero: bool

class _Formula(TypedDict):
    index: int
    role: Literal["expected", "calibrated", "fitted", "summary", "chosen"]
    exchange: str | None
    summary: str
    inputs: dict[str, _Term]
    outputs: dict[str, _Term]

class _Problem(TypedDict):
    parameter: str
    power: int
    shared: bool

_Quantity = tuple[str, str, list[str] | None]  # unit, dtype, choices: in this order

class _Quantities(TypedDict):
    labels: dict[str, _Quantity]
    metrics: dict[str, _Quantity]
    findings: dict[str, _Quantity]
    parts: dict[str, _Quantity]
    stages: dict[str, _Quantity]
    figures: dict[str, str]
    problem: _Problem | None
    banked: bool
    computes: bool
    side_by_side: int
    error: str

class _Scheme(TypedDict):
    kernel_routed: bool
    host_memory: bool
    chunks: bool
    kernels: str

class _Graph(TypedDict):
    vertices: int
    edges: int
    directed: bool
    weighted: bool
    simple: bool
    digest: int
    load_time: float

class _Run(TypedDict):
    columns: dict[str, tuple[str, NDArray[float64 | int64 | bool_ | str_]]]
    trace: dict[str, tuple[str, NDArray[float64 | int64 | str_]]]
    summary: dict[str, tuple[str, float]]
    parameters: dict[str, Any]
    verified: bool
    notes: list[str]
    records: NDArray[void] | None

class _Turns: ...

@final
class Session:
    def __new__(
        cls,
        device: str = "",
        exchange: str = "",
        comm: int | None = None,
        mpi_library: str = "",
        deadline: float = 0,
        version: str = "",
        libraries: Sequence[str] = (),
        quiet: bool = False,
        trace: int = 0,
        folder: str = "",
    ) -> Session: ...
    @property
    def rank(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def exchange(self) -> str: ...
    @property
    def kernel_routed(self) -> bool: ...
    @property
    def prelude(self) -> str: ...
    @property
    def device(self) -> _Device: ...
    @property
    def hosts(self) -> list[str]: ...
    @property
    def devices(self) -> list[str]: ...
    @property
    def emulated(self) -> bool: ...
    @property
    def wants_relay(self) -> bool: ...
    def relay(self, binary: bytes, /) -> None: ...
    def kernel(self, benchmark: str, shape: str = ..., /) -> str | None: ...
    def build(self, source: str, options: str, quiet: bool = False, /) -> bytes: ...
    def same(self, what: str, value: str, /) -> None: ...
    def agree(self, error: BaseException | None, /) -> None: ...
    def take_exchange(
        self,
        name: str,
        schemes: Sequence[str] = ...,
        sizes: ArrayLike = ...,
        times: ArrayLike = ...,
        /,
    ) -> None: ...
    def run(
        self,
        benchmark: str,
        params: dict[str, Any],
        kernel: tuple[str, bytes, str] | None,
        progress: Callable[[int, int, dict[str, float | str]], object] | None,
        begin: Callable[[], object] | None = None,
        turns: _Turns | None = None,
    ) -> _Run | None: ...
    def close(self) -> None: ...

def components(kind: str, /) -> list[tuple[str, str]]: ...
def known(wanted: str, names: Iterable[str], /) -> str: ...
def parameters(benchmark: str, /) -> list[_Parameter]: ...
def values(benchmark: str, params: dict[str, Any], /) -> dict[str, Any]: ...
def check_ranks(
    benchmark: str, exchange: str, params: dict[str, Any], ranks: int, /
) -> None: ...
def turns(benchmark: str, params: dict[str, Any], whole: bool = ..., /) -> _Turns: ...
def turns_left(turns: _Turns, /) -> int: ...
def scheme(exchange: str, /) -> _Scheme: ...
def programs(runtime: str, /) -> str: ...
def quantities(benchmark: str, /) -> _Quantities: ...
def figures(
    benchmark: str, sizes: NDArray[Any], columns: dict[str, NDArray[Any]], /
) -> dict[str, tuple[str, float]]: ...
def kernels(stem: str, /) -> list[_Kernel]: ...
def value_bytes(data_type: str, /) -> int: ...
def devices(
    runtime: str, libraries: Sequence[str] = (), quiet: bool = False
) -> list[_Device]: ...
def xclbin(data: bytes, /) -> dict[str, Any]: ...
def links(
    topology: str, ranks: int, ports: int, /
) -> list[tuple[int, int, int, int]]: ...
def models(name: str, /) -> list[_Formula]: ...
def evaluate(
    model: str, index: int, inputs: dict[str, Any], /
) -> dict[str, NDArray[float64]]: ...
def fastest(times: ArrayLike, /) -> NDArray[intp]: ...
def graph_info(text: str, seed: int, /) -> _Graph: ...
def graph_survey(
    text: str, seed: int, partition: str, ranks: int, /
) -> dict[str, Any]: ...
def graph_rows(
    text: str, seed: int, weights: bool, /
) -> tuple[NDArray[uint64], NDArray[uint32], NDArray[uint32] | None]: ...
def guard_signals(
    heard: int, out: int, delay: float, code: int, line: bytes, /
) -> None: ...
def guard_until(seconds: float, code: int, line: bytes, /) -> None: ...
def guard_end() -> None: ...
def mpi_library() -> str: ...
