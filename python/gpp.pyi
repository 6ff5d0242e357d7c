"""BerkeleyGW's GPP self-energy kernel, on GPUs and processors.

Indices count from 0. The first index of a matrix is the fastest in Fortran's order: arrays in that order are
used where they are, others are copied.
"""

from os import PathLike
from typing import TypeAlias, TypedDict, final, type_check_only

import numpy as np
from numpy.typing import NDArray

_Complex: TypeAlias = NDArray[np.complex128]
_Real: TypeAlias = NDArray[np.float64]
_Index: TypeAlias = NDArray[np.int64] | NDArray[np.int32]

__version__: str

class Error(RuntimeError):
    """What went wrong in a calculation, in words."""

@type_check_only
class _Arguments(TypedDict):
    """The arguments of `Calculator.sums`."""

    wtilde: _Complex
    eps: _Complex
    vcoul: _Real
    igp_to_ig: _Index
    aqsn: _Complex
    aqsm: _Complex
    e: _Real
    occ: _Real
    omega: _Real
    gamma: float
    sexcut: float

@final
class Calculator:
    """A device, open, and the version to run there. Threads may share it."""

    def __new__(
        cls, device: str = "auto", version: str = "best", *, threads: int | None = None
    ) -> Calculator:
        """Opens "auto", "cpu", "gpu" or "gpu:N", for an id of `gpp.versions()` or "best".

        threads : of the processor, 1 to 65535; by default as many as OMP_NUM_THREADS says, else as many as the
            affinity mask and the cgroup leave room for. Sums have the same bits for any number.
        """
    @property
    def device(self) -> str:
        """The device: "cpu", "gpu:0", …"""
    @property
    def device_name(self) -> str:
        """The device's model."""
    @property
    def version(self) -> str:
        """The version asked for; "best" leaves it to each problem."""
    @property
    def threads(self) -> int:
        """How many threads of the processor a calculation has at most."""
    def sums(
        self,
        wtilde: _Complex,
        eps: _Complex,
        vcoul: _Real,
        igp_to_ig: _Index,
        aqsn: _Complex,
        aqsm: _Complex,
        e: _Real,
        occ: _Real,
        omega: _Real,
        gamma: float = 0.5,
        sexcut: float = 4.0,
        stream: int | None = None,
        *,
        static_ch: bool = False,
    ) -> Sums:
        """Screened exchange and Coulomb hole at each energy, summed over bands, G′ and G.

        wtilde : (ncouls, ngpown), eV. Plasmon-pole modes.
        eps : (ncouls, ngpown). δ − ε⁻¹.
        vcoul : (ncouls,). Coulomb interaction of each G; the sums have its unit.
        igp_to_ig : (ngpown,). Row of each column's G′, 0 to ncouls − 1; -1 for none.
        aqsn : (ncouls, nbands). Matrix elements of G.
        aqsm : (ncouls, nbands), whose rows of G′ are taken, or (ngpown, nbands), those rows.
        e : (nbands,), eV. Energy of each band.
        occ : (nbands,), 0 to 1. Occupation of each band.
        omega : (nw,), eV. The energies of the sums.
        gamma : eV. Width of a pole.
        sexcut : bound on |ssx| / |eps| where omega is below the band.
        stream : of CUDA, in which arrays on a GPU are made.
        static_ch : whether the static CH of the same bands is summed too, −½ Σ vcoul · eps · conj(aqsm) · aqsn.

        Arrays may be on the calculator's GPU: CuPy's, PyTorch's, any with `__cuda_array_interface__`.
        """
    def bound(
        self,
        wtilde: _Complex,
        eps: _Complex,
        vcoul: _Real,
        igp_to_ig: _Index,
        aqsn: _Complex,
        aqsm: _Complex,
        e: _Real,
        occ: _Real,
        omega: _Real,
        gamma: float = 0.5,
        sexcut: float = 4.0,
        columns: int = 8,
    ) -> list[_Real]:
        """How far asx and ach may be from exact sums at each energy, by any version.

        Of all columns of wtilde it is a bound, of fewer an estimate of it. Other arguments as of `sums`.
        """
    def matrix(
        self,
        wtilde: _Complex,
        eps: _Complex,
        vcoul: _Real,
        igp_to_ig: _Index,
        a: _Complex,
        e: _Real,
        occ: _Real,
        omega: _Real,
        gamma: float = 0.5,
        sexcut: float = 4.0,
        stream: int | None = None,
        *,
        at_bands: bool = False,
    ) -> Matrices:
        """Screened exchange and Coulomb hole between all bands l and m at each energy: Σ as a matrix.

        a : (bands, nbands, ncouls). Matrix elements a[l, n, ig] of band l with band n; a[l].T is the `aqsn` of
            `sums` where l is the state. In C's order it is used where it is, else copied.
        e, occ : (nbands,), eV and 0 to 1. Energy and occupation of each band n.
        at_bands : whether `omega` has the energy of each band l. Then there are two matrices: rows Σ_lm(ω_l), and
            columns Σ_lm(ω_m).

        Other arguments as of `sums`. `a` may be on the calculator's GPU, in C's order.
        """
    def place(
        self,
        wtilde: _Complex,
        eps: _Complex,
        vcoul: _Real,
        igp_to_ig: _Index,
        stream: int | None = None,
    ) -> Placed:
        """Places a screening for many calls of `Placed.sums` and `Placed.matrix`; arguments as of `sums`."""
    def workspace(
        self, ncouls: int, ngpown: int, nbands: int, nw: int, on_device: bool = False
    ) -> tuple[int, int]:
        """Bytes that a call takes at most beside the caller's arrays: on the host, on each GPU."""

@final
class Placed:
    """A screening in place. Threads may share it."""

    def sums(
        self,
        aqsn: _Complex,
        aqsm: _Complex,
        e: _Real,
        occ: _Real,
        omega: _Real,
        gamma: float = 0.5,
        sexcut: float = 4.0,
        stream: int | None = None,
        *,
        static_ch: bool = False,
    ) -> Sums:
        """`Calculator.sums` of the screening in place."""
    def matrix(
        self,
        a: _Complex,
        e: _Real,
        occ: _Real,
        omega: _Real,
        gamma: float = 0.5,
        sexcut: float = 4.0,
        stream: int | None = None,
        *,
        at_bands: bool = False,
    ) -> Matrices:
        """`Calculator.matrix` of the screening in place."""

@final
class Sums:
    """What came of a calculation; arrays are (nw,), in the unit of vcoul."""

    @property
    def asx(self) -> _Complex:
        """Screened exchange."""
    @property
    def ach(self) -> _Complex:
        """Coulomb hole."""
    @property
    def static_ch(self) -> complex | None:
        """The static CH of the same bands; None unless it was asked for."""
    @property
    def version(self) -> str:
        """The version that calculated them."""
    @property
    def seconds(self) -> float:
        """Seconds that its kernels took."""

@final
class Matrices:
    """What came of the calculation of a matrix; arrays are [iw, l, m], (nw, bands, bands), in the unit of vcoul; with at_bands (2, bands, bands)."""

    @property
    def sx(self) -> _Complex:
        """Screened exchange."""
    @property
    def ch(self) -> _Complex:
        """Coulomb hole."""
    @property
    def version(self) -> str:
        """The version that calculated them."""
    @property
    def seconds(self) -> float:
        """Seconds that its kernels took."""

def versions() -> dict[str, str]:
    """The ids of all versions, in order, each with what it changes."""

def system(name: str, seed: int = 214, energies: _Real | None = None) -> _Arguments:
    """The arguments of `Calculator.sums` for a built-in system; energies in eV above the state's."""

def read(path: str | PathLike[str]) -> tuple[_Arguments, tuple[_Complex, _Complex]]:
    """The arguments of a file in the mini-app's format, and the sums (asx, ach) that it compares with."""
