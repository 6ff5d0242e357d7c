"""The static dielectric matrix in the random-phase approximation, and the plasmon poles of Hybertsen and Louie."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

import crystal
from crystal import RYDBERG, UNIT2, VALENCE, VOLUME, B, linear, matrix_elements, moved_grids, phases, sphere

NO_POLE = 1e12  # eV, where ω̃² is negative, or zero by symmetry: the static limit
SMALLEST = 1e-6  # of δ − ε⁻¹, and of ω̃² in rydberg², that are taken for a pole


@dataclass
class Screening:
    """At one q; symmetric matrices (G, G′), as if v were divided evenly between both sides."""

    q: np.ndarray  # (3,)
    g: np.ndarray  # (ng, 3)
    inverse: np.ndarray  # δ − ε⁻¹
    wtilde: np.ndarray  # ω̃ in eV; NO_POLE, or 0 where δ − ε⁻¹ is next to nothing
    forbidden: np.ndarray  # pairs that symmetry gives no strength: Ω² = 0


def inverses(grid, moved, points, cutoff, planewaves):
    """ε⁻¹ (G, G′) at each q of a grid, with its G: a sum over all valence and conduction bands at k of the
    grids `moved`; and the states there.

    `points` are the numbers of the q. The first is Γ; its q is small, and the result the mean of all directions
    that symmetry makes of it.
    """
    small = np.array([1, 1, 1]) * 1e-3
    qs = [small if at == 0 else grid.k(at) for at in points]
    gs = [sphere(grid.k(at), cutoff) for at in points]
    polarizability = [np.zeros((len(g), len(g))) for g in gs]
    kept = [[crystal.states(k.k(at), planewaves) for at in range(len(k.steps))] for k in moved]
    kets = [(k, its, at) for k, its in zip(moved, kept) for at in range(len(its))]
    for k, its, number in kets:
        ket = its[number]
        cube = ket.cube()
        for at, q, g, sum_ in zip(points, qs, gs, polarizability):
            if at == 0:
                bra, shift = crystal.states(ket.k + q, planewaves), np.zeros(3, int)
            else:
                bra, shift = k.fold(k.steps[number] + grid.steps[at])
                bra = its[bra]
            m = matrix_elements(bra, slice(VALENCE, None), ket, cube, slice(VALENCE), g, shift)
            gap = bra.e[VALENCE:, None] - ket.e[None, :VALENCE]
            # Spin and both orders in time: four.
            m *= np.sqrt(4 / (len(kets) * VOLUME * gap))[:, None, :]
            flat = m.transpose(0, 2, 1).reshape(-1, len(g))
            sum_ -= flat.T @ flat
    found = []
    for at, q, g, p in zip(points, qs, gs, polarizability):
        root = np.sqrt(8 * np.pi / (np.sum((q + g) ** 2, axis=1) * UNIT2))
        inverse = np.linalg.inv(np.eye(len(g)) - root[:, None] * p * root)
        found.append(mean_of_directions(inverse, g) if at == 0 else inverse)
    return gs, found, [one for its in kept for one in its]


def mean_of_directions(inverse, g):
    """The mean over all operations of a matrix at a small q: its wings vanish."""
    order = np.argsort(linear(g))
    mean = np.zeros_like(inverse)
    for r, t in crystal.operations():
        turned = g @ r.T
        to = order[np.searchsorted(linear(g)[order], linear(turned))]
        phase = phases(turned, t)
        part = np.zeros_like(inverse)
        part[np.ix_(to, to)] = phase[:, None] * inverse * phase
        mean += part / 48
    if np.all(g[0] == 0):
        # Signs of the wings are those of q: they cancel exactly.
        mean[0, 1:] = mean[1:, 0] = 0
    return mean


def poles(q, g, inverse, density, discard):
    """ω̃² = Ω² / (δ − ε⁻¹), with the strength Ω² that the f-sum rule gives.

    Where ω̃² is negative, or zero by symmetry, there is no pole: the pair is static, or left out with `discard`.
    """
    rest = np.eye(len(g)) - inverse
    plasma2 = 16 * np.pi * density.of(np.zeros(3, int))  # rydberg²
    qg = q + g
    size = np.linalg.norm(qg, axis=1)
    if size[0] < 1e-9:
        # Along q itself, to the head alone: the wings are zero.
        qg, size = qg.copy(), size.copy()
        qg[0], size[0] = [1, 0, 0], 1
    cosine = qg @ qg.T / np.outer(size, size)
    ratio = density.of(g[:, None, :] - g[None, :, :]) / density.of(np.zeros(3, int))
    with np.errstate(divide="ignore", invalid="ignore"):
        squared = plasma2 * cosine * ratio / rest
    nothing = abs(rest) < SMALLEST
    forbidden = ~nothing & (abs(squared) <= SMALLEST)
    wtilde = np.where(squared > SMALLEST, np.sqrt(np.maximum(squared, 0)) * RYDBERG, NO_POLE)
    wtilde[nothing] = rest[nothing] = 0
    if discard:
        rest[wtilde == NO_POLE] = 0
    return Screening(q, g, rest, wtilde, forbidden)


@lru_cache
def cell(n, fine):
    """Points (points, 3) that fill the cell around Γ of a grid of N³, as symmetric as the crystal; shares of each.

    Points on the cell's face are there once for each of its images.
    """
    steps = np.concatenate([grid.steps for grid in moved_grids(fine)]) / (2 * fine)
    near = np.mgrid[[slice(-1, 3)] * 3].reshape(3, -1).T
    images = (steps[:, None, :] - near) @ B / n
    size = np.sum(images**2, axis=2)
    nearest = size < size.min(axis=1, keepdims=True) + 1e-9
    share = nearest / nearest.sum(axis=1, keepdims=True) / len(steps)
    return images[nearest], share[nearest]


def averaged_coulomb(q, g, n, fine=6):
    """8π/|q+G|² in rydberg·bohr³, its mean over the cell of q in a grid of N³."""

    def mean(fine):
        points, share = cell(n, fine)
        size = np.sum((q + g) ** 2, axis=1)[:, None] + np.sum(points**2, axis=1)
        return 8 * np.pi / UNIT2 / (size + 2 * (q + g) @ points.T) @ share

    # At Γ the points next to the pole leave an error of 1/fine, which two of them take out.
    return 2 * mean(2 * fine) - mean(fine) if np.linalg.norm(q) < 1e-9 else mean(fine)
