"""The module against the formula of docs/kernel.md, written once more with NumPy."""

import ctypes
import math
import os
import subprocess
import sys
import threading

import gpp
import numpy as np
import pytest


def by_definition(wtilde, eps, vcoul, igp_to_ig, aqsn, aqsm, e, occ, omega, gamma=0.5, sexcut=4.0):
    """asx and ach, term by term."""
    rows = igp_to_ig
    asx, ach = np.zeros(len(omega), complex), np.zeros(len(omega), complex)
    with np.errstate(divide="ignore", invalid="ignore"):
        for n, band in enumerate(e):
            m = aqsn[:, n, None] * np.conj(aqsm[rows, n])[None, :] * vcoul[rows][None, :]
            for iw, energy in enumerate(omega):
                w = energy - band
                w = 1e-12 if abs(w) < 1e-12 else w
                wdiff = w - wtilde
                delw = wtilde / wdiff
                size = abs(delw) ** 2
                far = (abs(wdiff) ** 2 > gamma**2) & (size < 1 / (4 * 1e-6))
                near = ~far & (size > 1e-12)
                sch = np.where(far, delw * eps, 0)
                squared = wtilde**2 * eps
                ssx = np.where(far, squared / (w**2 - wtilde**2), 0)
                ssx = np.where(near, -squared * delw / (4 * wtilde**2 * (delw + 0.5)), ssx)
                if w < 0:
                    ssx = np.where(abs(ssx) > sexcut * abs(eps), 0, ssx)
                asx[iw] -= occ[n] * np.sum(ssx * m)
                ach[iw] += 0.5 * np.sum(sch * m)
    return asx, ach


def far(found, expected):
    """The largest error of both sums, relative to the largest of each."""
    pairs = zip((found.asx, found.ach), expected)
    return max(np.max(abs(a - b)) / np.max(abs(b)) for a, b in pairs)


@pytest.mark.parametrize("name", ["tiny", "tiny-complex"])
@pytest.mark.parametrize("energies", [None, np.linspace(-10, 10, 41)])
def test_sums_are_those_of_the_formula(cpu, name, energies):
    system = gpp.system(name, energies=energies)
    found = cpu.sums(**system)
    assert found.asx.dtype == found.ach.dtype == np.complex128
    assert found.asx.shape == found.ach.shape == system["omega"].shape
    assert found.version in gpp.versions() and found.seconds > 0
    assert far(found, by_definition(**system)) <= 1e-12


@pytest.mark.parametrize("name", ["tiny", "tiny-complex", "demo"])
@pytest.mark.parametrize("version", ["best", "sigma:cells", "v13"])
def test_the_static_ch_of_each_band_is_that_of_the_formula(name, version):
    system = gpp.system(name)
    rows, calculator = system["igp_to_ig"], gpp.Calculator("cpu", version)
    left = system["vcoul"][rows][:, None] * np.conj(system["aqsm"][rows])
    expected = -0.5 * np.sum(left * (system["eps"].T @ system["aqsn"]), axis=0)
    near = lambda found, expected: np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max()
    found, without = calculator.sums(**system, static_ch=True), calculator.sums(**system)
    assert near(found.static_ch, expected)
    assert without.static_ch is None
    assert np.array_equal(found.asx, without.asx) and np.array_equal(found.ach, without.ach)
    screening = {key: system[key] for key in ["wtilde", "eps", "vcoul", "igp_to_ig"]}
    of_bands = {key: system[key] for key in system if key not in screening}
    placed = calculator.place(**screening)
    assert np.array_equal(placed.sums(**of_bands, static_ch=True).static_ch, found.static_ch)
    # Poles and energies have no part in it.
    other = dict(system, wtilde=2 * system["wtilde"], omega=system["omega"] + 1)
    assert np.array_equal(calculator.sums(**other, static_ch=True).static_ch, found.static_ch)
    parts = [dict(of_bands, **{key: of_bands[key][..., half] for key in ["aqsn", "aqsm", "e", "occ"]})
             for half in [slice(0, 7), slice(7, None)]]
    assert near(np.concatenate([placed.sums(**part, static_ch=True).static_ch for part in parts]), expected)


@pytest.mark.parametrize("version", ["best", "v13", "v15"])
def test_sigma_alone_is_the_sum_of_both(version):
    tiny = gpp.system("tiny")
    both = gpp.Calculator("cpu").sums(**tiny)
    calculator = gpp.Calculator("cpu", version)
    screening = {key: tiny[key] for key in ["wtilde", "eps", "vcoul", "igp_to_ig"]}
    placed = calculator.place(**screening)
    of_bands = {key: tiny[key] for key in tiny if key not in screening}
    for found in calculator.sums(**tiny, sigma_alone=True), placed.sums(**of_bands, sigma_alone=True):
        assert not found.asx.any() and np.array_equal(found.sigma, found.ach)
        assert (np.abs(found.sigma - both.sigma) <= 1e-13 * (np.abs(both.asx) + np.abs(both.ach))).all()
        assert found.derivative is None
    if version != "v13":
        found = placed.sums(**of_bands, derivative=True)
        state = {key: of_bands[key] for key in ["aqsn", "aqsm", "e", "occ", "omega"]}
        limits = {key: of_bands[key] for key in ["gamma", "sexcut"]}
        [again] = placed.sums_of_states([state], **limits, derivative=True)
        below, above = (placed.sums(**{**of_bands, "omega": tiny["omega"] + h}).sigma for h in (-1e-5, 1e-5))
        assert np.array_equal(found.derivative, again.derivative)
        assert (np.abs((above - below) / 2e-5 - found.derivative) <= 1e-6 * np.abs(both.sigma)).all()
    else:
        with pytest.raises(gpp.Error, match="derivative:? is not summed by v13"):
            placed.sums(**of_bands, derivative=True)
    a = np.stack([of_bands.pop("aqsn").T, of_bands.pop("aqsm").T])
    matrices = placed.matrix(a, **of_bands)
    found = placed.matrix(a, **of_bands, sigma_alone=True)
    assert not found.sx.any() and np.abs(found.sigma - matrices.sigma).max() <= 1e-13 * np.abs(matrices.ch).max()


@pytest.mark.parametrize("name", ["tiny", "tiny-complex", "demo"])
@pytest.mark.parametrize("version", ["best", "sigma:cells", "v13"])
def test_ch_of_each_band_is_that_of_a_call_of_this_band(name, version):
    system, calculator = gpp.system(name), gpp.Calculator("cpu", version)
    for iw in range(len(system["omega"])):
        found = calculator.sums(**system, ach_of_bands=iw)
        assert abs(found.ach_of_bands.sum() - found.ach[iw]) <= 1e-12 * np.abs(found.ach_of_bands).sum()
        assert found.static_ch is None
    for n in 0, len(system["e"]) - 1:
        band = {key: system[key][..., n:n + 1] for key in ["aqsn", "aqsm", "e", "occ"]}
        assert abs(calculator.sums(**system | band).ach[iw] - found.ach_of_bands[n]) <= 1e-11 * abs(found.ach[iw])
    for wrong in -1, len(system["omega"]):
        with pytest.raises(gpp.Error, match=f"ach_of_bands needs an index of omega, 0 to 1; found {wrong}"):
            calculator.sums(**system, ach_of_bands=wrong)
    with pytest.raises(TypeError):
        calculator.sums(**system, ach_of_bands="0")


@pytest.mark.parametrize("name", ["tiny", "tiny-complex"])
def test_versions_are_alike(cpu, name):
    system = gpp.system(name)
    best = cpu.sums(**system)
    for version in gpp.versions():
        found = gpp.Calculator("cpu", version).sums(**system)
        assert found.version == version
        # s1 rounds w and the pole before it subtracts them.
        single = {"s1": 1e-3, "s2": 1e-5, "s3": 1e-5, "s4": 1e-5, "cpu:single": 1e-5}
        if version in single or version == "v15" or version.endswith("alone"):
            assert (abs(found.sigma - best.sigma) <= single.get(version, 1e-12) * abs(best.ach)).all(), version
        else:
            assert far(found, (best.asx, best.ach)) <= 1e-12, version


def test_best_is_chosen_by_the_problem(cpu):
    assert cpu.version == "best"
    few, many = gpp.system("demo"), gpp.system("demo", energies=np.arange(64.0))
    assert cpu.sums(**few).version == "cpu:paired"
    assert cpu.sums(**many).version == "sigma:cells"


def test_either_order_has_the_same_bits(cpu, tiny):
    expected = cpu.sums(**tiny)
    names = ["wtilde", "eps", "aqsn", "aqsm"]
    assert all(tiny[name].flags.f_contiguous for name in names)
    in_c = {name: np.ascontiguousarray(tiny[name]) for name in names}
    gaps = {name: np.repeat(tiny[name], 2, axis=0)[::2] for name in names}
    assert not any(array.flags.forc for array in gaps.values())
    transposed = {name: np.ascontiguousarray(tiny[name].T).T for name in names}
    backwards = {name: np.array(tiny[name][::-1])[::-1] for name in [*names, "vcoul", "e"]}
    for other in in_c, gaps, transposed, backwards:
        found = cpu.sums(**tiny | other)
        assert np.array_equal(found.asx, expected.asx)
        assert np.array_equal(found.ach, expected.ach)


def test_aqsm_is_whole_or_the_rows_of_the_columns(cpu, tiny):
    expected = cpu.sums(**tiny)
    for rows in tiny["igp_to_ig"], tiny["igp_to_ig"].astype(np.int32):
        found = cpu.sums(**tiny | {"aqsm": tiny["aqsm"][rows], "igp_to_ig": rows})
        assert np.array_equal(found.asx, expected.asx)


def test_a_column_without_a_row_adds_nothing(cpu, tiny):
    one_less = {name: tiny[name][:, :-1] for name in ("wtilde", "eps")}
    expected = cpu.sums(**tiny | one_less | {"igp_to_ig": tiny["igp_to_ig"][:-1]})
    rows = tiny["igp_to_ig"].copy()
    rows[-1] = -1
    found = cpu.sums(**tiny | {"igp_to_ig": rows})
    assert far(found, (expected.asx, expected.ach)) <= 1e-15


@pytest.mark.parametrize("name", ["wtilde", "eps", "vcoul", "aqsn", "aqsm", "e", "occ", "omega", "igp_to_ig"])
def test_a_wrong_type_is_named(cpu, tiny, name):
    array = tiny[name]
    other = np.clongdouble if array.dtype == np.complex128 else np.float32
    swapped = array.astype(array.dtype.newbyteorder())
    wrong = [array.astype(other), array[None], None]
    wrong += [swapped] if name != "igp_to_ig" else []
    for given in wrong:
        with pytest.raises(TypeError, match=f"^{name} needs .*found"):
            cpu.sums(**tiny | {name: given})


@pytest.mark.parametrize(
    "name, change, said",
    [
        ("wtilde", lambda a: a[1:], r"wtilde needs shape \(ncouls, ngpown\) = \(67, 8\); found \(66, 8\)"),
        ("eps", lambda a: a.T, r"eps needs shape .* found \(8, 67\)"),
        ("aqsn", lambda a: a[:, 1:], "aqsn needs shape"),
        ("aqsm", lambda a: a[:5], r"aqsm needs shape .*\(67, 21\) or \(ngpown, nbands\) = \(8, 21\)"),
        ("occ", lambda a: a[1:], r"occ needs shape \(nbands,\) = \(21,\)"),
        ("occ", lambda a: a + 1, "occ.* must be from 0 to 1"),
        ("igp_to_ig", lambda a: a + 60, r"igp_to_ig\[1\] is 68; it must be from 0 to 66"),
        ("igp_to_ig", lambda a: a - 2, r"igp_to_ig\[0\] is -2"),
        ("omega", lambda a: a * np.nan, "omega"),
        ("omega", lambda a: a[:0], "length of omega"),
        ("wtilde", lambda a: a * np.inf, "wtilde"),
        ("sexcut", lambda _: -1.0, "sexcut is -1.0; it must be finite and not negative"),
    ],
)
def test_what_is_wrong_is_named_and_the_calculator_goes_on(cpu, tiny, name, change, said):
    expected = cpu.sums(**tiny)
    with np.errstate(invalid="ignore"):
        wrong = tiny | {name: change(tiny[name])}
    with pytest.raises(gpp.Error, match=said):
        cpu.sums(**wrong)
    assert np.array_equal(cpu.sums(**tiny).asx, expected.asx)


def test_an_array_that_is_not_aligned_is_copied(cpu, tiny):
    bytes_ = np.zeros(tiny["e"].nbytes + 1, np.uint8)
    odd = bytes_[1:].view(np.float64)
    odd[:] = tiny["e"]
    assert np.array_equal(cpu.sums(**tiny | {"e": odd}).asx, cpu.sums(**tiny).asx)


def test_unknown_names():
    assert issubclass(gpp.Error, RuntimeError)
    for wrong, said in [
        (lambda: gpp.Calculator("cpi"), "did you mean `cpu`"),
        (lambda: gpp.Calculator("gpu:0,0"), "gpu:0 twice"),
        (lambda: gpp.Calculator("cpu", "v99"), "unknown version"),
        (lambda: gpp.system("tinny"), "did you mean `tiny`"),
    ]:
        with pytest.raises(gpp.Error, match=said):
            wrong()


def test_what_a_calculator_says_of_itself(cpu):
    assert (cpu.device, cpu.version) == ("cpu", "best")
    assert repr(cpu) == "gpp.Calculator(device='cpu', version='best')"
    assert "version='cpu:paired'" in repr(cpu.sums(**gpp.system("tiny")))
    assert gpp.__version__.count(".") == 2
    assert "0" in gpp.Calculator.sums.__doc__ and "ncouls" in gpp.Calculator.sums.__doc__


@pytest.mark.skipif(sys.platform != "linux", reason="build.rs hides them there")
def test_the_drivers_names_stay_inside():
    # The core defines them for its linker; another user of CUDA in the process must not find them.
    module = ctypes.CDLL(gpp._gpp.__file__)
    assert hasattr(module, "PyInit__gpp")
    assert not any(hasattr(module, name) for name in ("cuInit", "cuMemAlloc_v2", "cuLaunchKernel"))


def test_a_file_of_the_mini_app(cpu, tiny, tmp_path):
    path = tmp_path / "tiny.dat"
    expected = cpu.sums(**tiny)
    write(path, tiny, expected)
    arguments, (asx, ach) = gpp.read(path)
    found = cpu.sums(**arguments)
    assert np.array_equal(asx, expected.asx) and np.array_equal(ach, expected.ach)
    assert far(found, (asx, ach)) <= 1e-12
    for name in ("wtilde", "eps", "vcoul", "aqsn", "e", "occ"):
        assert np.array_equal(arguments[name], tiny[name]), name
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(gpp.Error, match="record"):
        gpp.read(str(path))


def write(path, tiny, sums):
    """The file of docs/berkeleygw.md."""
    (ncouls, ngpown), nbands = tiny["wtilde"].shape, len(tiny["e"])
    ints = lambda *numbers: np.array(numbers, "<i4").tobytes()
    reals = lambda *numbers: np.array(numbers, "<f8").tobytes()
    raw = lambda array: array.tobytes(order="F")
    three = lambda array: raw(np.concatenate([[0], array]))
    zero = raw(np.zeros(3, complex))
    records = [
        ints(nbands, ncouls, ncouls, ngpown, nbands),
        ints(nbands, 1, 1, ngpown, ncouls),
        ints(*range(1, nbands + 1)),
        reals(*tiny["e"]),
        ints(2, 3, -3) + reals(1.0, tiny["gamma"], tiny["omega"][0]),
        ints(*tiny["igp_to_ig"] + 1),
        ints(ncouls, *range(1, ncouls + 1)),
        raw(tiny["aqsm"]),
        ints(int(tiny["occ"].sum())) + reals(1e-6, 6.383),
        reals(*tiny["vcoul"]),
        reals(tiny["sexcut"], 0, 0),
        raw(tiny["wtilde"]),
        raw(tiny["eps"]),
        raw(tiny["aqsn"]),
        zero,
        zero,
        three(sums.asx),
        three(sums.ach),
    ]
    with open(path, "wb") as file:
        file.writelines(ints(len(record)) + record + ints(len(record)) for record in records)


def test_other_threads_run_meanwhile(cpu):
    system = gpp.system("demo")
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1

    # A thread that counts gets nowhere while another holds the interpreter's lock for all that time.
    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = counted[0]
        emulated = gpp.Calculator("cpu", "v0").sums(**system)
        during = counted[0] - before
    finally:
        done.set()
        thread.join()
    best = cpu.sums(**system)
    assert during > 1000
    assert far(emulated, (best.asx, best.ach)) <= 1e-12


def test_threads_share_a_calculator(cpu, tiny):
    expected = cpu.sums(**tiny)
    found = []
    threads = [threading.Thread(target=lambda: found.append(cpu.sums(**tiny))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(np.array_equal(sums.asx, expected.asx) for sums in found)


@pytest.mark.parametrize("version", ["best", "cpu:threads", "v3"])
def test_sums_have_the_same_bits_for_any_number_of_threads(cpu, tiny, version):
    some = [gpp.Calculator("cpu", version, threads=threads) for threads in (1, 2, 3)]
    assert [calculator.threads for calculator in some] == [1, 2, 3]
    first, *others = [calculator.sums(**tiny) for calculator in some]
    for found in others:
        assert np.array_equal(found.asx, first.asx) and np.array_equal(found.ach, first.ach)
    for wrong in (0, -1, 65536):
        with pytest.raises(gpp.Error, match=f"threads must be from 1 to 65535, found {wrong}"):
            gpp.Calculator("cpu", threads=wrong)
    with pytest.raises(TypeError):
        gpp.Calculator("cpu", threads="2")


def test_version_and_threads_may_be_set_again(tiny):
    calculator = gpp.Calculator("cpu", threads=2)
    placed = calculator.place(*(tiny[name] for name in ("wtilde", "eps", "vcoul", "igp_to_ig")))
    for version, threads in ("cpu:simd", 1), ("v3", 3):
        calculator.version, calculator.threads = version, threads
        of_placed = placed.sums(*(tiny[name] for name in ("aqsn", "aqsm", "e", "occ", "omega")))
        for found in calculator.sums(**tiny), of_placed:
            assert (found.version, calculator.version, calculator.threads) == (version, version, threads)
            assert found.call_seconds > found.seconds > 0
    with pytest.raises(gpp.Error, match="unknown version"):
        calculator.version = "none"
    with pytest.raises(AttributeError):
        calculator.device = "gpu"
    calculator.threads = None
    assert (calculator.version, calculator.threads) == ("v3", gpp.Calculator("cpu").threads)


def test_single_precision_has_a_bound(cpu):
    demo = gpp.system("demo")
    expected = cpu.sums(**demo)
    assert expected.error_bound == expected.error_found == 0
    single = gpp.Calculator("cpu", precision="single", tolerance=1e-6)
    placed, bands = single.place(*(demo[name] for name in ("wtilde", "eps", "vcoul", "igp_to_ig"))), dict(demo)
    for name in ("wtilde", "eps", "vcoul", "igp_to_ig"):
        del bands[name]
    limits = {name: bands.pop(name) for name in ("gamma", "sexcut")}
    for found in (
        single.sums(**demo, sigma_alone=True),
        placed.sums(**bands, **limits, sigma_alone=True),
        *placed.sums_of_states([bands], **limits, sigma_alone=True),
    ):
        error = np.abs(found.sigma - expected.sigma).max()
        assert found.version == "cpu:single" and 0 < error <= found.error_bound < 1e-4 * np.abs(found.sigma).max()
        assert 0 < found.error_found <= found.error_bound
    with pytest.raises(gpp.Error, match="precision: single sums Σ alone"):
        single.sums(**demo)
    with pytest.raises(gpp.Error, match="a matrix is summed in double"):
        placed.matrix(demo["aqsn"].T[None], demo["e"], demo["occ"], demo["omega"])
    single.version = "cpu:alone"
    with pytest.raises(gpp.Error, match="cpu:alone sums in double"):
        single.sums(**demo, sigma_alone=True)
    for wrong in dict(precision="half"), dict(tolerance=-1.0), dict(tolerance=math.nan):
        with pytest.raises(gpp.Error, match=next(iter(wrong))):
            gpp.Calculator("cpu", **wrong)


def test_lists_of_int_are_numbers(cpu, tiny):
    found = cpu.sums(**{**tiny, "occ": [1] * len(tiny["e"])})
    assert np.array_equal(found.asx, cpu.sums(**{**tiny, "occ": np.ones(len(tiny["e"]))}).asx)
    with pytest.raises(TypeError, match="occ needs float64"):
        cpu.sums(**{**tiny, "occ": np.ones(len(tiny["e"]), int)})


def test_the_environment_says_how_many_threads_there_are():
    program = "import gpp; print(gpp.Calculator('cpu').threads, gpp.Calculator('cpu', threads=2).threads)"

    def printed(**asked):
        rest = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
        command = [sys.executable, "-c", program]
        return subprocess.run(command, env=rest | asked, check=True, capture_output=True).stdout.split()

    by_default = printed()
    assert int(by_default[0]) >= 1
    assert printed(OMP_NUM_THREADS="5,2") == [b"5", b"2"]
    assert printed(OMP_NUM_THREADS="none") == by_default


@pytest.mark.skipif(sys.platform != "linux", reason="cores are looked at there")
def test_the_callers_cores_stay_his(tiny):
    before = os.sched_getaffinity(0)
    gpp.Calculator("cpu", threads=2).sums(**tiny)
    assert os.sched_getaffinity(0) == before


def test_a_gpu_has_the_sums_of_the_processor(cpu):
    try:
        gpu = gpp.Calculator("gpu")
    except gpp.Error as error:
        if os.environ.get("GPP_REQUIRE_GPU"):
            raise
        pytest.skip(str(error))
    assert gpu.device == "gpu:0"
    for name in "tiny", "demo", "demo-complex":
        system = gpp.system(name)
        expected = cpu.sums(**system)
        assert far(gpu.sums(**system), (expected.asx, expected.ach)) <= 1e-12
