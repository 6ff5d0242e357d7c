"""Matrix elements of the self-energy: bare exchange here, screened exchange and Coulomb hole by gpp."""

from dataclasses import dataclass

import numpy as np

from crystal import RYDBERG, UNIT2, VALENCE, VOLUME, matrix_elements, phases, sphere
from screening import averaged_coulomb

STEP = 0.5  # eV, of the slope of Σ(E)


@dataclass
class Element:
    """Of one state, in eV."""

    e: float  # mean-field energy
    exchange: float
    sx: np.ndarray  # screened exchange less bare, at E − STEP, E, E + STEP
    ch: np.ndarray  # Coulomb hole, at the same
    vxc: float

    def sigma(self):
        """Σ(E)."""
        return self.exchange + self.sx[1] + self.ch[1]

    def z(self):
        """1 / (1 − dΣ/dE)."""
        total = self.sx + self.ch
        return 1 / (1 - (total[2] - total[0]) / (2 * STEP))

    def correction(self):
        """Z (Σ(E) − Vxc)."""
        return self.z() * (self.sigma() - self.vxc)


class SelfEnergy:
    """Σ of states at points of a grid, summed over all its q."""

    def __init__(self, grid, all_states, screenings, stars, density, planewaves, calculator):
        self.grid, self.states, self.stars = grid, all_states, stars
        self.density, self.vxc = density, density.exchange_correlation()
        self.planewaves, self.calculator = planewaves, calculator
        # Rydberg·bohr³ to eV, and each q its share.
        unit = RYDBERG / (VOLUME * len(grid.steps))
        self.screenings = {
            at: (screening, unit * averaged_coulomb(screening.q, screening.g, grid.n))
            for at, screening in screenings.items()
        }
        self.unit, self.terms, self.seconds, self.versions = unit, 0, 0.0, set()

    def at(self, point, bands):
        """Elements of some bands at a point of the grid."""
        ket = self.states[point]
        cube = ket.cube()
        found = [[0.0, np.zeros(3), np.zeros(3)] for _ in bands]
        for q in range(len(self.grid.steps)):
            bra, shift = self.grid.fold(self.grid.steps[point] + self.grid.steps[q])
            bra = self.states[bra]
            screening, vcoul, g, phase = self._turned(q)
            m = matrix_elements(bra, slice(None), ket, cube, bands, g, shift)
            far = self._beyond(q, g)
            bare = matrix_elements(bra, slice(VALENCE), ket, cube, bands, far, shift)
            size = np.sum((self.grid.k(q) + far) ** 2, axis=1) * UNIT2
            beyond = self.unit * 8 * np.pi / size
            eps = phase[:, None] * screening.inverse * phase
            arrays = {
                "wtilde": screening.wtilde.astype(complex),
                # BerkeleyGW's matrix: v stands at G′ alone.
                "eps": eps * np.sqrt(vcoul[:, None] / vcoul) + 0j,
                "vcoul": vcoul,
                "igp_to_ig": np.arange(len(g)),
                "e": bra.e * RYDBERG,
                "occ": (np.arange(len(bra.e)) < VALENCE).astype(float),
            }
            for at, (band, sums) in enumerate(zip(bands, found)):
                # Coefficients are real; what has G as its first index is in Fortran's order.
                aqs = m[:, :, at].astype(complex).T
                omega = ket.e[band] * RYDBERG + STEP * np.array([-1.0, 0.0, 1.0])
                part = self.calculator.sums(aqsn=aqs, aqsm=aqs, omega=omega, **arrays)
                sums[0] -= np.sum(m[:VALENCE, :, at] ** 2 @ vcoul) + np.sum(bare[:, :, at] ** 2 @ beyond)
                sums[1] += part.asx.real
                sums[2] += part.ach.real
                self.seconds += part.seconds
                self.versions.add(part.version)
                self.terms += len(g) ** 2 * len(bra.e) * len(omega)
        return [
            Element(ket.e[band] * RYDBERG, *sums, self._vxc(ket, band)) for band, sums in zip(bands, found)
        ]

    def _turned(self, q):
        """The screening at q, by symmetry from that of an irreducible point: same matrices, other G and signs."""
        first, r, t, shift = self.stars[q]
        screening, vcoul = self.screenings[first]
        g = screening.g @ r.T + shift
        return screening, vcoul, g, phases(g, t)

    def _beyond(self, q, g):
        """Vectors beyond those of the dielectric matrix, for bare exchange: all that two plane waves differ by."""
        all_ = sphere(self.grid.k(q), 4 * self.planewaves)
        key = {tuple(one) for one in g}
        return np.array([one for one in all_ if tuple(one) not in key])

    def _vxc(self, ket, band):
        return float(np.mean(self.density.squared(ket, band) * self.vxc)) * RYDBERG
