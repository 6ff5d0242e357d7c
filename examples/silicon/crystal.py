"""Silicon by an empirical pseudopotential: lattice, symmetry, plane waves, density.

Energies are in rydberg, lengths in bohr. Reciprocal vectors are in units of 2π/a, where those of the lattice are
integers, all odd or all even. The origin is halfway between the two atoms, at ±(a/8)(1,1,1): the crystal has
inversion there, and the coefficients of its states are real.
"""

import itertools
from dataclasses import dataclass

import numpy as np

RYDBERG = 13.605693123  # eV
A = 5.43 / 0.529177210903  # bohr
UNIT2 = (2 * np.pi / A) ** 2  # (2π/a)² in rydberg
VOLUME = A**3 / 4  # of a cell, bohr³
VALENCE = 4  # filled bands

# Cohen and Bergstresser, Phys. Rev. 141, 789 (1966): |G|² in (2π/a)², rydberg.
FORM_FACTORS = {3: -0.21, 8: 0.04, 11: 0.08}

# Rows are the reciprocal basis; reduced coordinates times this are Cartesian ones.
B = np.array([[-1, 1, 1], [1, -1, 1], [1, 1, -1]])

# Reciprocal vectors have components within this, so that their differences have a place in a cube.
REACH = 24
SIDE = 2 * REACH + 1


def sphere(k, cutoff):
    """Reciprocal vectors (n, 3) with |k + G|² below a cutoff in rydberg, shortest first."""
    reach = int(np.sqrt(cutoff / UNIT2) + np.linalg.norm(k)) + 2
    g = np.mgrid[[slice(-reach, reach + 1)] * 3].reshape(3, -1).T
    g = g[np.all(g % 2 == g[:, :1] % 2, axis=1)]
    size = np.sum((k + g) ** 2, axis=1)
    inside = size * UNIT2 < cutoff
    g, size = g[inside], size[inside]
    return g[np.lexsort((g[:, 2], g[:, 1], g[:, 0], size.round(9)))]


def linear(g):
    """The place of reciprocal vectors in a cube, up to an offset: linear, so that it can be subtracted."""
    return g @ np.array([SIDE * SIDE, SIDE, 1])


OFFSET = int(linear(np.array([REACH, REACH, REACH])))

# What a plane wave feels of another, by the difference of their vectors.
POTENTIAL = np.zeros(SIDE**3)
for _g in sphere(np.zeros(3), 12 * UNIT2):
    _size = int(_g @ _g)
    if _size in FORM_FACTORS:
        POTENTIAL[linear(_g) + OFFSET] = FORM_FACTORS[_size] * np.cos(np.pi / 4 * _g.sum())


@dataclass
class States:
    """The states at one k."""

    k: np.ndarray  # (3,)
    g: np.ndarray  # (npw, 3)
    e: np.ndarray  # (nbands,) rydberg, ascending
    c: np.ndarray  # (npw + 1, nbands) coefficients; the last row is zero

    def cube(self):
        """The row of each reciprocal vector, by its place; the row of zeros where it has none."""
        cube = np.full(SIDE**3, len(self.g), np.int32)
        cube[linear(self.g) + OFFSET] = np.arange(len(self.g))
        return cube


def states(k, cutoff):
    """All states at k within the plane waves of |k + G|² below a cutoff."""
    g = sphere(k, cutoff)
    place = linear(g)
    h = POTENTIAL[place[:, None] - place[None, :] + OFFSET]
    h[np.diag_indices(len(g))] = np.sum((k + g) ** 2, axis=1) * UNIT2
    e, c = np.linalg.eigh(h)
    return States(np.array(k), g, e, np.vstack([c, np.zeros(len(g))]))


def matrix_elements(bra, bands, ket, cube, columns, g, shift):
    """<n,k+q| exp(i(q+G)r) |l,k> for bands n of the bra, bands l of the ket: (bands, G, columns).

    The bra stands for k + q = bra.k + shift. `cube` is the ket's.
    """
    rows = cube[linear(bra.g)[:, None] - linear(g + shift)[None, :] + OFFSET]
    moved = ket.c[:, columns][rows]
    found = bra.c[:-1, bands].T @ moved.reshape(len(bra.g), -1)
    return found.reshape(-1, len(g), moved.shape[2])


class Grid:
    """An even grid of N³ points, each moved by half a step along some of the three directions.

    `steps` (N³, 3) are reduced coordinates in units of 1/(2N).
    """

    def __init__(self, n, half=(0, 0, 0)):
        self.n, self.half = n, np.array(half)
        self.steps = 2 * np.array(list(itertools.product(range(n), repeat=3))) + self.half

    def k(self, at):
        """A point's Cartesian coordinates."""
        return self.steps[at] @ B / (2 * self.n)

    def fold(self, steps):
        """The point that is these steps, but for a reciprocal vector, which is given too: steps = point + it."""
        times, inside = np.divmod(steps, 2 * self.n)
        x, y, z = (inside - self.half) // 2
        return (x * self.n + y) * self.n + z, times @ B

    def find(self, k):
        """The same for Cartesian coordinates; none where they are no point of the grid."""
        steps = np.rint(k @ np.linalg.inv(B) * 2 * self.n).astype(int)
        on = np.allclose(steps @ B / (2 * self.n), k) and np.all((steps - self.half) % 2 == 0)
        return self.fold(steps) if on else None


def moved_grids(n):
    """Four grids that together have the symmetry of the crystal, without Γ: one alone has not."""
    return [Grid(n, half) for half in ((1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1))]


def operations():
    """The 48 operations of the crystal: rotation (3, 3) and translation (3,) in units of a."""
    tau = np.full(3, 1 / 8)
    found = []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1, -1), repeat=3):
            r = np.zeros((3, 3), int)
            r[range(3), order] = signs
            # One atom comes to its place or the other's; the other atom follows if 2t is a vector of the lattice.
            for t in (tau - r @ tau, -tau - r @ tau):
                if round(4 * t.sum()) % 2 == 0:
                    found.append((r, t))
                    break
    assert len(found) == 48
    return found


def phases(g, t):
    """exp(−iGt) of reciprocal vectors, but for a factor in common: +1 or −1."""
    turns = -2 * np.pi * ((g - g[0]) @ t)
    assert np.allclose(np.sin(turns), 0, atol=1e-9)
    return np.cos(turns).round()


def irreducible(grid):
    """For each point of a grid that holds Γ: its irreducible point and the operation that leads to it."""
    all_, of = operations(), {}
    first = []
    for at in range(len(grid.steps)):
        if at in of:
            continue
        first.append(at)
        for r, t in all_:
            star, shift = grid.find(grid.k(at) @ r.T)
            of.setdefault(star, (at, r, t, shift))
    return first, of


class Density:
    """The valence density of the states at some k, and what follows from it."""

    SIZE = 24  # points along each edge of a cell

    def __init__(self, all_states):
        self.r = np.zeros((self.SIZE,) * 3)
        for at in all_states:
            for band in range(VALENCE):
                self.r += self.squared(at, band)
        self.r *= 2 / (len(all_states) * VOLUME)
        self.g = np.fft.fftn(self.r).real / self.r.size

    def _index(self, g):
        reduced = np.rint(g @ np.linalg.inv(B)).astype(int) % self.SIZE
        return tuple(np.moveaxis(reduced, -1, 0))

    def squared(self, at, band):
        """|u|² of a state on the points of the cell; its mean is 1."""
        box = np.zeros((self.SIZE,) * 3)
        box[self._index(at.g)] = at.c[:-1, band]
        return np.abs(np.fft.ifftn(box) * box.size) ** 2

    def of(self, g):
        """Its Fourier coefficients, per bohr³."""
        return self.g[self._index(g)]

    def exchange_correlation(self):
        """The potential of the local density approximation, Perdew and Zunger's, in rydberg."""
        rs = (3 / (4 * np.pi * np.maximum(self.r, 1e-12))) ** (1 / 3)
        exchange = -2 * (9 / (4 * np.pi**2)) ** (1 / 3) / rs
        root = np.sqrt(rs)
        below = 1 + 1.0529 * root + 0.3334 * rs
        thin = -0.1423 / below**2 * (1 + 7 / 6 * 1.0529 * root + 4 / 3 * 0.3334 * rs)
        log = np.log(rs)
        dense = 0.0311 * log - 0.048 - 0.0311 / 3
        dense += 2 / 3 * 0.0020 * rs * log + (2 * -0.0116 - 0.0020) / 3 * rs
        return exchange + 2 * np.where(rs < 1, dense, thin)
