"""BerkeleyGW's GPP self-energy kernel, on GPUs and CPUs.

>>> import gpp
>>> calculator = gpp.Calculator("cpu")
>>> found = calculator.sums(**gpp.system("tiny"))
>>> sigma = found.asx + found.ach

Indices count from 0. Fortran-ordered arrays are used in place, others are copied.
"""

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, TypedDict

import numpy as np
from numpy.typing import NDArray

from . import _gpp  # type: ignore[attr-defined]
from ._arrays import Array, CallArrays, array

Complex: TypeAlias = NDArray[np.complex128]
Real: TypeAlias = NDArray[np.float64]

__version__: str = _gpp.__version__


class Error(RuntimeError):
    """A calculation failed: mismatched arrays, an invalid number, an unknown name, no GPU, too little memory."""


class Stopped(Error):
    """The progress callback stopped the calculation."""


class Arguments(TypedDict):
    """The arguments of `Calculator.sums`."""

    wtilde: Complex
    eps: Complex
    vcoul: Real
    igp_to_ig: NDArray[np.int64]
    aqsn: Complex
    aqsm: Complex
    e: Real
    occ: Real
    omega: Real
    gamma: float
    sexcut: float


@dataclass(frozen=True, eq=False)
class Sums:
    """The result of a calculation; arrays are (nw,), in the unit of vcoul.

    asx, ach : screened exchange and Coulomb hole at each energy; with sigma_alone zero and their sum.
    sigma : their sum, the self-energy.
    static_ch, ach_of_bands : (nbands,), the static CH and CH at one energy of each band; None unless asked for.
    version : the version that ran.
    seconds : kernel time; call_seconds : time of the whole call.
    error_bound : what single precision may have lost of sigma at any energy, in the unit of vcoul; 0 in double.
    error_found : what it has lost of the sums of one group of columns in 48, at least of one, which are summed in double too.
        If that is more than the bound, the call raises `gpp.Error`.
    derivative : of sigma with respect to ω, in the unit of vcoul per eV; None unless asked for.
    """

    asx: Complex
    ach: Complex
    static_ch: Complex | None
    ach_of_bands: Complex | None
    version: str
    seconds: float
    call_seconds: float
    error_bound: float = 0.0
    error_found: float = 0.0
    derivative: Complex | None = None

    @property
    def sigma(self) -> Complex:
        return self.asx + self.ach


@dataclass(frozen=True, eq=False)
class Matrices:
    """The result of a matrix calculation; arrays are (nw, bands, bands), with at_bands (2, bands, bands), in the unit
    of vcoul.

    sx, ch : screened exchange sx[iw, l, m] and Coulomb hole ch[iw, l, m]; with sigma_alone zero and their sum.
    sigma : their sum, the self-energy.
    version : the version that ran: "ring", "m16n8k16", "wide" and others on a GPU, "cpu" on a CPU.
    seconds : time of the products; call_seconds : time of the whole call.
    """

    sx: Complex
    ch: Complex
    version: str
    seconds: float
    call_seconds: float

    @property
    def sigma(self) -> Complex:
        return self.sx + self.ch


def _stays(self: object) -> NoReturn:
    raise TypeError(f"a gpp.{type(self).__name__} is open in this process and cannot be pickled; results can")


class Calculator:
    """An open device and the version to run there. Threads may share it.

    Parameters
    ----------
    device : "auto", "cpu", "gpu", "gpu:N", "gpu:N,M" or "gpu:all"; several GPUs share each problem. "auto" is the first
        GPU, or the CPU if there is none.
    version : an id of `gpp.versions()`, or "best", which depends on the problem.
    threads : number of CPU threads, 1 to 65535. The default is OMP_NUM_THREADS, or else what the affinity mask and the
        cgroup allow. Results do not depend on it.
    progress : a callback that receives the fraction done, 0 to 1, many times a second. If it returns True, the
        calculation raises `gpp.Stopped`; its exceptions pass through.
    precision : "double", or "single" for Σ alone in FP32 with a bound on its error: then `sums` needs sigma_alone=True, and
        `matrix` fails.
    tolerance : what single precision may lose of Σ|terms|. As many pairs are summed in double, at most one in a hundred, as
        bound the error by this; without so many `Sums.error_bound` is larger.

    Attributes
    ----------
    device : "cpu", "gpu:0", …, the first of several; device_name : its model.
    version, threads, progress, precision, tolerance : as above; the first three may be set again, threads and progress also to None.

    Raises `gpp.Error` for an unknown name, a missing GPU, or a version for other devices. A calculator cannot be pickled
    or used in a forked process: open one in each process.
    """

    def __init__(
        self,
        device: str = "auto",
        version: str = "best",
        *,
        threads: int | None = None,
        progress: Callable[[float], bool | None] | None = None,
        precision: str = "double",
        tolerance: float = 1e-7,
    ):
        if precision not in ("double", "single"):
            raise Error(f"precision needs 'double' or 'single', found {precision!r}")
        self._core: Any = _gpp.Calculator(device).with_precision(precision == "single", tolerance)
        self.version, self.threads, self.progress = version, threads, progress
        self.precision, self.tolerance = precision, tolerance

    @property
    def device(self) -> str:
        return str(self._core.device()[0])

    @property
    def device_name(self) -> str:
        return str(self._core.device()[1])

    @property
    def version(self) -> str:
        return self._version

    @version.setter
    def version(self, version: str) -> None:
        self._core = self._core.with_version(version)
        self._version = version

    @property
    def threads(self) -> int:
        return int(self._core.threads())

    @threads.setter
    def threads(self, threads: int | None) -> None:
        if threads is not None and not 1 <= threads <= 65535:
            raise Error(f"threads must be from 1 to 65535, found {threads}")
        self._core.set_threads(threads or 0)

    __reduce__ = _stays

    def __repr__(self) -> str:
        return f"gpp.Calculator(device={self.device!r}, version={self.version!r})"

    def sums(
        self,
        wtilde: Array,
        eps: Array,
        vcoul: Array,
        igp_to_ig: Array,
        aqsn: Array,
        aqsm: Array,
        e: Array,
        occ: Array,
        omega: Array,
        gamma: float = 0.5,
        sexcut: float = 4.0,
        stream: int | None = None,
        *,
        eta: float | None = None,
        window: float = 0.0,
        static_ch: bool = False,
        ach_of_bands: int | None = None,
        sigma_alone: bool = False,
        derivative: bool = False,
    ) -> Sums:
        """Screened exchange and Coulomb hole at each energy, summed over bands, G′ and G.

        Parameters
        ----------
        wtilde : (ncouls, ngpown) complex128, eV. Plasmon poles.
        eps : (ncouls, ngpown) complex128. δ − ε⁻¹.
        vcoul : (ncouls,) float64. Coulomb interaction of each G; the sums have its unit.
        igp_to_ig : (ngpown,) int64 or int32. Row of each column's G′, 0 to ncouls − 1; -1 for none. Several columns may
            have the same, for several poles a pair.
        aqsn : (ncouls, nbands) complex128. Matrix elements of G.
        aqsm : (ncouls, nbands) complex128, from which the rows of G′ are copied, or (ngpown, nbands), just these rows. If
            ncouls = ngpown it is the first.
        e : (nbands,) float64, eV. Energy of each band.
        occ : (nbands,) float64, 0 to 1. Occupation of each band.
        omega : (nw,) float64, eV. Energies ω.
        gamma : eV. Distance from a pole below which the near form of a term applies.
        sexcut : bound on |ssx| / |eps| if omega is below the band.
        stream : CUDA stream, as an integer, that produces arrays on a GPU. By default the one that they name, or the
            default stream.
        eta : eV. Broadening η of the time-ordered formula of other plasmon-pole codes, ½ · vcoul · ω̃ · eps · M ·
            [(1 − f)/(w − ω̃ + iη) + f/(w + ω̃ − iη)] with occupation f and w = ω − e. It takes the place of BerkeleyGW's
            formula, and of gamma and sexcut.
        window : eV. Window of that formula, ABINIT's zcut: nearer to a real pole η is as large. Then eta is 0 or None, and
            asx is zero and ach Σ; matrices need a CPU.
        static_ch : whether to compute the static CH of each band too, −½ Σ vcoul · eps · conj(aqsm) · aqsn, as in
            BerkeleyGW's `acc_static_ch` for `exact_static_ch 1`.
        ach_of_bands : index of the energy at which to compute CH of each band too.
        sigma_alone : whether only the sum of both is wanted, which takes up to a third less time on a GPU.
        derivative : whether to compute the derivative of Σ with respect to ω too, by "v15" or "cpu:alone" in double
            precision: then asx is zero and ach Σ.

        Matrices may be complex64: then they are converted, as the call needs them. Fortran-ordered arrays of complex128 are
        used in place; C-ordered ones, and ones with gaps, are copied. The transpose `array.T` of
        a C-ordered array of shape (ngpown, ncouls) is in Fortran's order and not copied.

        Arrays may be on the GPU of a calculator that has one: CuPy's, PyTorch's and others that have
        `__cuda_array_interface__`. `wtilde` and `eps` together, `aqsn` and `aqsm` together, with the first index
        fastest: nothing is copied on the GPU for its order. `place` keeps `wtilde` and `eps` there for many calls.

        Raises TypeError for an argument of another type, `gpp.Error` for one of another shape, with masked elements or
        invalid numbers; the calculator stays usable. Other Python threads run meanwhile and must not change the arrays.
        Ctrl-C ends the calculation.
        """
        bands: dict[str, Array] = dict(aqsn=aqsn, aqsm=aqsm, e=e, occ=occ, omega=omega)
        of_g: dict[str, Array] = dict(wtilde=wtilde, eps=eps, vcoul=vcoul, igp_to_ig=igp_to_ig)
        arrays = CallArrays(self, stream, static_ch, ach_of_bands, sigma_alone, derivative, **of_g, **bands)
        screening, rest = arrays.screening(), (*arrays.bands(arrays.shape), (gamma, sexcut, eta, window), arrays.call)
        return _sums(self._core.place(screening, True, arrays.call).sums(self._core, *rest))

    def matrix(
        self,
        wtilde: Array,
        eps: Array,
        vcoul: Array,
        igp_to_ig: Array,
        a: Array,
        e: Array,
        occ: Array,
        omega: Array,
        gamma: float = 0.5,
        sexcut: float = 4.0,
        stream: int | None = None,
        *,
        eta: float | None = None,
        window: float = 0.0,
        at_bands: bool = False,
        sigma_alone: bool = False,
    ) -> Matrices:
        """Screened exchange and Coulomb hole between all bands l and m at each energy: Σ as a matrix.

        Parameters
        ----------
        a : (bands, nbands, ncouls) complex128. Matrix elements a[l, n, ig] of band l with band n: a[l].T is the `aqsn`
            of `sums` if l is the state. bands is from 1 to 8192. A C-ordered array is used in place, any other is
            copied. One on the calculator's GPU, in C's order, is copied to the host.
        e, occ : (nbands,) float64. Energy in eV and occupation of each band n.
        at_bands : whether `omega` has the energy of each band l, (bands,). Then sx and ch have two matrices, as QSGW and
            GWPT use them: rows at their band's energy, Σ_lm(ω_l), then columns, Σ_lm(ω_m).
        sigma_alone : whether only the sum of both is wanted, which takes up to a third less time.

        Other arguments and exceptions are as in `sums`. The version is the fastest for matrices, whatever the
        calculator's is.
        """
        bands: dict[str, Array] = dict(a=a, e=e, occ=occ, omega=omega)
        of_g: dict[str, Array] = dict(wtilde=wtilde, eps=eps, vcoul=vcoul, igp_to_ig=igp_to_ig)
        arrays = CallArrays(self, stream, False, None, sigma_alone, False, **of_g, **bands)
        place = self._core, self._core.place(arrays.screening(), True, arrays.call)
        return _matrix(place, arrays, arrays.shape, (gamma, sexcut, eta, window), at_bands)

    def place(
        self, wtilde: Array, eps: Array, vcoul: Array, igp_to_ig: Array, stream: int | None = None
    ) -> "Placed":
        """Places a screening for many calls of `Placed.sums` and `Placed.matrix`: on one GPU `wtilde` and `eps` stay
        there from the first of them on, if there is room.

        Arguments and exceptions are as in `sums`. Matrices on the host are copied. Matrices on the GPU are used in place
        and must not change; they are copied to the host once.
        """
        arrays = CallArrays(self, stream, wtilde=wtilde, eps=eps, vcoul=vcoul, igp_to_ig=igp_to_ig)
        for name in "wtilde", "eps":
            if not arrays.has_matrices_on_gpu:
                arrays.arrays[name] = arrays.arrays[name].copy(order="F")
        return Placed(self, self._core.place(arrays.screening(), False, arrays.call), arrays.shape)


class Placed:
    """A screening placed by `Calculator.place`. Threads may share it and take turns."""

    def __init__(self, calculator: Calculator, core: Any, shape: tuple[int, int]):
        self._calculator, self._core, self._shape, self._turn = calculator, core, shape, threading.RLock()

    __reduce__ = _stays

    def __repr__(self) -> str:
        return "gpp.Placed(ncouls={}, ngpown={})".format(*self._shape)

    def sums(
        self,
        aqsn: Array,
        aqsm: Array,
        e: Array,
        occ: Array,
        omega: Array,
        gamma: float = 0.5,
        sexcut: float = 4.0,
        stream: int | None = None,
        *,
        eta: float | None = None,
        window: float = 0.0,
        static_ch: bool = False,
        ach_of_bands: int | None = None,
        sigma_alone: bool = False,
        derivative: bool = False,
    ) -> Sums:
        """`Calculator.sums` with the placed screening."""
        arrays = CallArrays(
            self._calculator, stream, static_ch, ach_of_bands, sigma_alone, derivative,
            aqsn=aqsn, aqsm=aqsm, e=e, occ=occ, omega=omega,
        )
        with self._turn:
            rest = (*arrays.bands(self._shape), (gamma, sexcut, eta, window), arrays.call)
            return _sums(self._core.sums(self._calculator._core, *rest))

    def sums_of_states(
        self,
        states: Iterable[Mapping[str, Array]],
        gamma: float = 0.5,
        sexcut: float = 4.0,
        stream: int | None = None,
        *,
        eta: float | None = None,
        window: float = 0.0,
        static_ch: bool = False,
        ach_of_bands: int | None = None,
        sigma_alone: bool = False,
        derivative: bool = False,
    ) -> list[Sums]:
        """`Placed.sums` of many states: the same bits in less time than by a call for each.

        states : for each state a dict of `aqsn`, `aqsm`, `e`, `occ` and `omega` of `sums`. States may share arrays, and have
            parts of larger ones: `aqsn[:, :, n]` of an array in Fortran's order, or `aqsn[n].T` of one in C's.

        Other arguments and exceptions are as in `sums`; an exception names the state, counted from 0. `call_seconds` are
        those of the whole call.
        """
        given, bands = [], []
        for number, state in enumerate(states):
            try:
                if set(state) != {"aqsn", "aqsm", "e", "occ", "omega"}:
                    raise TypeError(f"needs aqsn, aqsm, e, occ and omega; found {', '.join(state)}")
                given.append(CallArrays(
                    self._calculator, stream, static_ch, ach_of_bands, sigma_alone, derivative, **state
                ))
                bands.append(given[-1].bands(self._shape))
            except (Error, TypeError) as error:
                raise type(error)(f"state {number}: {error}") from error
        if len({arrays.call[0] for arrays in given}) > 1:
            raise Error("states have different streams; pass one as stream")
        if not given:
            return []
        with self._turn:
            limits = gamma, sexcut, eta, window
            found = self._core.sums_of_states(self._calculator._core, bands, limits, given[0].call)
        return [_sums(of) for of in found]

    def matrix(
        self,
        a: Array,
        e: Array,
        occ: Array,
        omega: Array,
        gamma: float = 0.5,
        sexcut: float = 4.0,
        stream: int | None = None,
        *,
        eta: float | None = None,
        window: float = 0.0,
        at_bands: bool = False,
        sigma_alone: bool = False,
    ) -> Matrices:
        """`Calculator.matrix` with the placed screening."""
        arrays = CallArrays(self._calculator, stream, sigma_alone=sigma_alone, a=a, e=e, occ=occ, omega=omega)
        with self._turn:
            place = self._calculator._core, self._core
            return _matrix(place, arrays, self._shape, (gamma, sexcut, eta, window), at_bands)


def _sums(found: Any) -> Sums:
    (asx, ach), (static_ch, ach_of_bands, derivative), version, (seconds, whole, bound, lost) = found
    return Sums(asx, ach, static_ch, ach_of_bands, version, seconds, whole, bound, lost, derivative)


def _matrix(
    place: Any,
    arrays: CallArrays,
    shape: tuple[int, int],
    formula: tuple[float, float, float | None, float],
    at_bands: bool,
) -> Matrices:
    (a, *rest), omega = arrays.matrix(shape, at_bands)
    count = len(arrays.arrays["a"])
    # In memory l is the fastest.
    by_m = (2 if at_bands else len(omega), count, count)
    if not len(a):
        return Matrices(np.zeros(by_m, complex), np.zeros(by_m, complex), "cpu", 0.0, 0.0)
    calculator, core = place
    sx, ch, *rest = core.matrix(calculator, (a, *rest), omega, formula, arrays.call)
    sx, ch = (of.reshape(by_m).transpose(0, 2, 1) for of in (sx, ch))
    return Matrices(sx, ch, *rest)


def versions() -> dict[str, str]:
    """The ids of all versions, in order, each with what it changes."""
    return dict(_gpp.versions())


def system(name: str, seed: int = 214, energies: Array | None = None) -> Arguments:
    """The arguments of `Calculator.sums` for a built-in system, matrices in Fortran's order.

    name : "tiny", "demo", "si214", "si510", …, also with "-complex" for complex poles.
    seed : for its numbers.
    energies : (nw,) float64, eV above the state's energy, instead of the system's own.

    Raises `gpp.Error` for an unknown name or too little memory.
    """
    made, state = _gpp.system(name, seed)
    if energies is not None:
        made["omega"] = state + array("energies", energies)
    return _shaped(made)


def read(path: str | os.PathLike[str]) -> tuple[Arguments, tuple[Complex, Complex]]:
    """The arguments of `Calculator.sums` from a file in the mini-app's format, and its reference values: a pair of arrays
    (asx, ach), less the starting values; zeros if it has none.

    >>> arguments, (asx, ach) = gpp.read("tiny.dat")

    Raises FileNotFoundError, and `gpp.Error`, which names the record, for a file that is not one.
    """
    os.stat(path)
    made, (asx, ach, asx_before, ach_before) = _gpp.read(path)
    return _shaped(made), (asx - asx_before, ach - ach_before)


def _shaped(made: Any) -> Arguments:
    ncouls, ngpown, nbands = (len(made[name]) for name in ("vcoul", "igp_to_ig", "e"))
    for name, columns in ("wtilde", ngpown), ("eps", ngpown), ("aqsn", nbands), ("aqsm", nbands):
        made[name] = made[name].reshape((ncouls, columns), order="F")
    shaped: Arguments = made
    return shaped
