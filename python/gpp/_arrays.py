"""The arrays of a call: checked, and as the core takes them."""

import math
from collections.abc import Mapping
from operator import index
from typing import Any, Protocol, TypeAlias

import gpp
import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import ArrayLike


class OnGpu(Protocol):
    """An array on a GPU: CuPy's, PyTorch's and others."""

    @property
    def __cuda_array_interface__(self) -> Mapping[str, Any]: ...


Array: TypeAlias = ArrayLike | OnGpu

_COMPLEX, _REAL = (np.dtype(np.complex128), np.dtype(np.complex64)), (np.dtype(np.float64),)
# Types and dimensions.
_KINDS = {
    **dict.fromkeys(("wtilde", "eps", "aqsn", "aqsm"), (_COMPLEX, 2)),
    **dict.fromkeys(("vcoul", "e", "occ", "omega", "energies"), (_REAL, 1)),
    "igp_to_ig": ((np.dtype(np.int64), np.dtype(np.int32)), 1),
    "a": (_COMPLEX, 3),
}


class _DeviceArray:
    """An array on a GPU: its address `at`, and of a matrix the elements `ld` from one column to the next."""

    def __init__(self, owner: OnGpu, interface: Mapping[str, Any]):
        if interface.get("mask") is not None:
            raise TypeError("it has a mask")
        self.owner, (self.at, _) = owner, interface["data"]
        self.dtype, self.shape = np.dtype(interface["typestr"]), tuple(interface["shape"])
        self.stream = interface.get("stream")
        self.ndim, size = len(self.shape), self.dtype.itemsize
        dense = [size * math.prod(self.shape[at + 1 :]) for at in range(self.ndim)]
        strides = interface.get("strides") or dense
        self.fits = all(n <= 1 or a == b for n, a, b in zip(self.shape, strides, dense, strict=True))
        if self.ndim == 2:
            rows, columns = self.shape
            self.ld = strides[1] // size if columns > 1 else rows
            self.fits = self.ld >= rows and (rows <= 1 or strides[0] == size)


def array(name: str, argument: Array) -> Any:
    """An argument as an array of NumPy's or on a GPU, of its type and dimensions."""
    interface = getattr(argument, "__cuda_array_interface__", None)
    try:
        is_host = interface is None
        found: Any = np.asarray(argument) if is_host else _DeviceArray(argument, interface)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError) as error:
        raise TypeError(f"{name} is not an array: {error!r}") from error
    kinds, ndim = _KINDS[name]
    if not is_host and kinds is _COMPLEX:
        kinds = kinds[:1]
    if is_host and not hasattr(argument, "dtype") and (np.can_cast(found.dtype, kinds[0]) or not found.size):
        found = found.astype(kinds[0])
    if found.dtype not in kinds or found.ndim != ndim:
        needs = f"{name} needs {' or '.join(map(str, kinds))}, {ndim}-dimensional"
        on_gpu = "" if interface is None else " on a GPU"
        raise TypeError(f"{needs}; found {found.dtype} of shape {found.shape}{on_gpu}")
    if interface is not None and not found.fits:
        order = "its first index fastest; give the transpose of an array in C's order"
        order = order if ndim == 2 else "C's order without gaps"
        raise gpp.Error(f"{name} needs {order}: nothing is copied on a GPU")
    if isinstance(argument, np.ma.MaskedArray) and np.ma.is_masked(argument):
        raise gpp.Error(f"{name} has masked elements; fill them")
    return found


def flat(of: Any, order: str = "F") -> Any:
    """All elements, the first index fastest: where they are if they are in that order, else a copy."""
    if isinstance(of, _DeviceArray):
        return of
    elements = of.ravel(order)
    return elements if elements.flags.aligned else elements.copy()


def matrix(of: Any) -> Any:
    """A matrix of complex numbers: all elements where they are, with as many as there are from one column to the next,
    or a copy without gaps."""
    if isinstance(of, _DeviceArray):
        return of
    (rows, columns), (step, stride) = of.shape, of.strides
    ld, odd = divmod(stride, of.itemsize)
    is_there = columns > 1 and rows > 0 and (step == of.itemsize or rows == 1) and ld >= rows and not odd
    if not (is_there and of.flags.aligned):
        return flat(of) if of.dtype == np.complex128 else (flat(of), rows)
    elements = as_strided(of, ((columns - 1) * ld + rows,), (of.itemsize,), writeable=False)
    return elements if ld == rows and of.dtype == np.complex128 else (elements, ld)


class CallArrays:
    """The arrays of a call, its stream, what is wanted of each band, and the progress callback."""

    def __init__(
        self,
        calculator: "gpp.Calculator",
        stream: int | None,
        static_ch: bool = False,
        ach_of_bands: int | None = None,
        sigma_alone: bool = False,
        derivative: bool = False,
        **arrays: Array,
    ):
        self.arrays = {name: array(name, of) for name, of in arrays.items()}
        on_gpu = {name: of for name, of in self.arrays.items() if isinstance(of, _DeviceArray)}
        if calculator.device == "cpu" and (on_gpu or stream is not None):
            raise gpp.Error(f"{next(iter(on_gpu), 'stream')} needs a GPU, but the calculator is on a CPU")
        streams = {of.stream for of in on_gpu.values()} - {None} if stream is None else {stream}
        if len(streams) > 1:
            raise gpp.Error(f"{', '.join(on_gpu)} have different streams; pass one as stream")
        if ach_of_bands is not None and not 0 <= index(ach_of_bands) < math.prod(self.arrays["omega"].shape):
            needs = f"an index of omega, 0 to {math.prod(self.arrays['omega'].shape) - 1}"
            raise gpp.Error(f"ach_of_bands needs {needs}; found {ach_of_bands}")
        wanted = static_ch, ach_of_bands, sigma_alone, derivative
        self.call = next(iter(streams), 0), *wanted, calculator.progress
        self.has_matrices_on_gpu = any(of.ndim == 2 for of in on_gpu.values())
        for name, of in on_gpu.items():
            if of.ndim != 2:
                read = calculator._core.fetch(name, of.at, of.dtype.itemsize * math.prod(of.shape), self.call)
                self.arrays[name] = read.view(of.dtype).reshape(of.shape)

    def screening(self) -> tuple[Any, ...]:
        vcoul, igp_to_ig = self.arrays["vcoul"], self.arrays["igp_to_ig"]
        self.shape = ncouls, ngpown = len(vcoul), len(igp_to_ig)
        for name in "wtilde", "eps":
            self._require(name, self.shape, "(ncouls, ngpown)")
        wrong = (igp_to_ig < -1) | (igp_to_ig >= ncouls)
        if wrong.any():
            at = wrong.argmax()
            needs = f"it must be from 0 to {ncouls - 1}, or -1 if the column has no row"
            raise gpp.Error(f"igp_to_ig[{at}] is {igp_to_ig[at]}; {needs}")
        columns, rows = np.arange(1, ngpown + 1, dtype=np.int32), (igp_to_ig + 1).astype(np.int32)
        return *self._matrices("wtilde", "eps"), flat(vcoul), columns, rows

    def bands(self, shape: tuple[int, int]) -> tuple[Any, ...]:
        (ncouls, ngpown), (e, occ, omega) = shape, self._energies()
        whole, local = (ncouls, len(e)), (ngpown, len(e))
        self._require("aqsn", whole, "(ncouls, nbands)")
        is_whole = self.arrays["aqsm"].shape == whole
        if not is_whole:
            self._require("aqsm", local, f"(ncouls, nbands) = {whole} or (ngpown, nbands)")
        return (*self._matrices("aqsn", "aqsm"), not is_whole, e, occ), omega

    def matrix(self, shape: tuple[int, int], at_bands: bool) -> tuple[Any, ...]:
        a, (e, occ, omega) = self.arrays["a"], self._energies()
        self._require("a", (len(a), len(e), shape[0]), "(bands, nbands, ncouls)")
        return (flat(a.astype(np.complex128, copy=False), "C"), e, occ, at_bands), omega

    def _energies(self) -> list[Any]:
        self._require("occ", self.arrays["e"].shape, "(nbands,)")
        return [flat(self.arrays[name]) for name in ("e", "occ", "omega")]

    def _matrices(self, *names: str) -> list[Any]:
        matrices = [matrix(self.arrays[name]) for name in names]
        if len({isinstance(of, _DeviceArray) for of in matrices}) > 1:
            raise gpp.Error(f"{' and '.join(names)} must both be on the host or both on the GPU")
        return matrices

    def _require(self, name: str, shape: tuple[int, ...], words: str) -> None:
        found = self.arrays[name].shape
        if found != shape:
            raise gpp.Error(f"{name} needs shape {words} = {shape}; found {found}")
