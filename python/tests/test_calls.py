"""What a call does to its surroundings: results that travel, progress, Ctrl-C, what is refused, empty problems, its cost."""

import copy
import errno
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import gpp
import numpy as np
import pytest

SCREENING = ["wtilde", "eps", "vcoul", "igp_to_ig"]


def with_a(system):
    """The arguments of `matrix`, with three bands."""
    rest = {name: value for name, value in system.items() if name not in ("aqsn", "aqsm")}
    return rest | {"a": np.stack([system["aqsn"].T] * 3)}


def placed_of(calculator, given):
    placed = calculator.place(**{name: given[name] for name in SCREENING})
    return placed, {name: value for name, value in given.items() if name not in SCREENING}


def summed(_):
    calculator, tiny = gpp.Calculator("cpu"), gpp.system("tiny")
    return calculator.sums(**tiny, static_ch=True, ach_of_bands=1), calculator.matrix(**with_a(tiny))


def test_results_come_back_from_other_processes():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (sums, matrices), = pool.map(summed, [0])
    expected, matrix = summed(0)
    for name in "asx", "ach", "static_ch", "ach_of_bands", "version":
        assert np.array_equal(getattr(sums, name), getattr(expected, name))
    assert np.array_equal(matrices.sx, matrix.sx) and np.array_equal(matrices.ch, matrix.ch)
    error = pickle.loads(pickle.dumps(gpp.Stopped("why")))
    assert isinstance(error, gpp.Error) and str(error) == "why"


def test_what_is_open_is_not_pickled(cpu, tiny):
    for open_here in cpu, placed_of(cpu, tiny)[0]:
        for travels in pickle.dumps, copy.copy:
            with pytest.raises(TypeError, match="open in this process and cannot be pickled; results can"):
                travels(open_here)


def test_array_likes_are_taken_and_other_types_named(cpu, tiny):
    expected = cpu.sums(**tiny)
    listed = {name: tiny[name].tolist() for name in ("vcoul", "igp_to_ig", "e", "occ", "omega", "aqsn")}
    found = cpu.sums(**tiny | listed | {"eps": np.ma.array(tiny["eps"], mask=False)})
    assert np.array_equal(found.asx, expected.asx) and np.array_equal(found.ach, expected.ach)
    for name, dtype in [("e", "float32"), ("aqsn", "clongdouble"), ("igp_to_ig", "uint64"), ("igp_to_ig", "int16"),
                        ("wtilde", ">c16"), ("omega", "O")]:
        with pytest.raises(TypeError, match=f"^{name} needs .*; found {np.dtype(dtype)} of shape"):
            cpu.sums(**tiny | {name: tiny[name].astype(dtype)})
    with pytest.raises(TypeError, match="^occ is not an array"):
        cpu.sums(**tiny | {"occ": [[1.0], [1.0, 2.0]]})


def test_many_states_have_the_bits_of_single_calls(cpu, tiny):
    placed, bands = placed_of(cpu, tiny | {"gamma": 0.5, "sexcut": 4.0})
    limits = {name: bands.pop(name) for name in ("gamma", "sexcut")}
    elements = np.asfortranarray(np.stack([tiny["aqsn"] * (1 + n) for n in range(5)], axis=2))
    wide = np.zeros((len(tiny["vcoul"]) + 2, *elements.shape[1:]), complex, order="F")
    wide[2:] = elements
    states = [bands | {"aqsn": elements[:, :, n], "aqsm": wide[2:, :, n], "omega": tiny["omega"][n % 2:]} for n in range(5)]
    found = placed.sums_of_states(states, **limits, static_ch=True, sigma_alone=True)
    for state, of in zip(states, found, strict=True):
        expected = placed.sums(**state, **limits, static_ch=True, sigma_alone=True)
        assert np.array_equal(of.ach, expected.ach) and np.array_equal(of.static_ch, expected.static_ch)
    assert placed.sums_of_states([]) == []
    states[3] = states[3] | {"aqsn": elements[:, :, 3] * np.nan}
    with pytest.raises(gpp.Error, match=r"^state 3: .*aqsn\(ig,n\) is NaN"):
        placed.sums_of_states(states)
    for wrong, error in ({"occ": tiny["occ"][1:]}, gpp.Error), ({"omega": None}, TypeError), ({"mu": 1.0}, TypeError):
        with pytest.raises(error, match="^state 4: "):
            placed.sums_of_states([*states[:3], states[0], states[4] | wrong])


def test_single_precision_is_converted(cpu, tiny):
    single = {name: of.astype(np.complex64) for name, of in tiny.items() if getattr(of, "dtype", None) == np.complex128}
    double = {name: of.astype(np.complex128) for name, of in single.items()}
    for change in np.asfortranarray, np.ascontiguousarray, lambda of: np.repeat(of, 2, axis=1)[:, ::2]:
        given = {name: change(of) for name, of in single.items()}
        found, expected = cpu.sums(**tiny | given), cpu.sums(**tiny | double)
        assert np.array_equal(found.asx, expected.asx) and np.array_equal(found.ach, expected.ach)
    of_a, of_single = with_a(tiny | double), with_a(tiny | single)
    assert of_single["a"].dtype == np.complex64
    assert np.array_equal(cpu.matrix(**of_single).sx, cpu.matrix(**of_a).sx)


@pytest.mark.parametrize("name", ["wtilde", "eps", "vcoul", "igp_to_ig", "aqsn", "aqsm", "e", "occ", "omega"])
def test_masked_elements_are_refused(cpu, tiny, name):
    masked = np.ma.array(tiny[name], mask=False)
    masked[-1] = np.ma.masked
    with pytest.raises(gpp.Error, match=f"^{name} has masked elements"):
        cpu.sums(**tiny | {name: masked})


def test_a_cpu_has_no_stream(cpu, tiny):
    placed, bands = placed_of(cpu, tiny)
    for call in (
        lambda: cpu.sums(**tiny, stream=1),
        lambda: cpu.matrix(**with_a(tiny), stream=0),
        lambda: placed.sums(**bands, stream=1),
        lambda: cpu.place(**{name: tiny[name] for name in SCREENING}, stream=1),
    ):
        with pytest.raises(gpp.Error, match="^stream needs a GPU, but the calculator is on a CPU"):
            call()


def test_what_is_placed_is_a_copy(cpu, tiny):
    expected = cpu.sums(**tiny)
    placed, bands = placed_of(cpu, tiny)
    tiny["wtilde"][:] = 0
    tiny["eps"][:] = np.nan
    assert np.array_equal(placed.sums(**bands).asx, expected.asx)


@pytest.mark.parametrize("large", [2**31 - 1, 2**32, 2**40, 2**63 - 1])
def test_a_row_that_is_none_is_told_as_it_is(cpu, tiny, large):
    rows = tiny["igp_to_ig"].copy()
    rows[3] = large
    with pytest.raises(gpp.Error, match=rf"^igp_to_ig\[3\] is {large}; it must be from 0 to 66, or -1"):
        cpu.sums(**tiny | {"igp_to_ig": rows})


def test_a_file_that_is_missing_is_told_as_python_does(tmp_path):
    with pytest.raises(FileNotFoundError) as raised:
        gpp.read(tmp_path / "nowhere.dat")
    assert raised.value.errno == errno.ENOENT and raised.value.filename == str(tmp_path / "nowhere.dat")
    (tmp_path / "empty.dat").write_bytes(b"")
    with pytest.raises(gpp.Error, match="empty.dat"):
        gpp.read(tmp_path / "empty.dat")


def test_sums_of_nothing_are_zero(cpu, tiny):
    matrix = lambda rows: np.zeros((rows, 0), complex, order="F")
    no_columns = {"wtilde": matrix(67), "eps": matrix(67), "igp_to_ig": np.zeros(0, np.int64)}
    no_bands = {"aqsn": matrix(67), "aqsm": matrix(67), "e": np.zeros(0), "occ": np.zeros(0)}
    for empty in no_columns, no_bands, no_columns | no_bands:
        given = tiny | empty
        placed, bands = placed_of(cpu, given)
        asked = dict(static_ch=True, ach_of_bands=1)
        for found in cpu.sums(**given, **asked), placed.sums(**bands, **asked):
            assert np.array_equal(found.asx, np.zeros(2)) and np.array_equal(found.ach, np.zeros(2))
            zeros = np.zeros(len(given["e"]))
            assert np.array_equal(found.static_ch, zeros) and np.array_equal(found.ach_of_bands, zeros)
        of_bands = with_a(given)
        for bands in 3, 0:
            found = cpu.matrix(**of_bands | {"a": of_bands["a"][:bands]})
            for part in found.sx, found.ch:
                assert np.array_equal(part, np.zeros((2, bands, bands))) and part.dtype == np.complex128


def long_calls():
    """Calls that take many seconds, by name."""
    demo = gpp.system("demo")
    repeat = 100
    many = demo | {name: np.asfortranarray(np.tile(demo[name], repeat)) for name in ("aqsn", "aqsm", "e", "occ")}
    cells = dict(gpp.system("demo", energies=np.linspace(-10, 10, 4096)))
    a = np.stack([demo["aqsn"].T] * 300)
    off = {name: demo[name] for name in demo if name not in ("aqsn", "aqsm")} | {"a": a, "omega": np.linspace(-9, 9, 40)}
    return {
        "sums": lambda calculator: calculator.sums(**many),
        "many energies": lambda calculator: calculator.sums(**cells),
        "placed": lambda calculator: placed_of(calculator, many)[0].sums(**placed_of(calculator, many)[1]),
        "matrix": lambda calculator: calculator.matrix(**off),
    }


def test_progress_is_told_and_stops(cpu):
    parts = []
    for name, call in long_calls().items():
        parts.clear()
        calculator = gpp.Calculator("cpu", progress=lambda part: parts.append((time.perf_counter(), part)) or len(parts) > 3)
        with pytest.raises(gpp.Stopped, match="progress asked to stop"):
            call(calculator)
        # Well before its end, however loaded the machine is.
        assert time.perf_counter() - parts[-1][0] < 1, name
        told = [part for _, part in parts]
        assert told == sorted(told) and 0 <= told[0] and told[-1] < 1, name


def test_what_progress_raises_is_raised(cpu, tiny):
    def progress(part):
        raise LookupError(part)

    calculator = gpp.Calculator("cpu", progress=progress)
    call = long_calls()["sums"]
    with pytest.raises(LookupError):
        call(calculator)
    # It is another function's turn; and without one the calculator goes on.
    calculator.progress = lambda part: "wrong" + part
    with pytest.raises(TypeError):
        call(calculator)
    calculator.progress = None
    assert np.array_equal(calculator.sums(**tiny).asx, cpu.sums(**tiny).asx)


def test_progress_may_not_call_what_it_is_told_about(tiny):
    calculator = gpp.Calculator("cpu", progress=lambda part: placed.sums(**bands))
    placed, bands = placed_of(calculator, tiny)
    with pytest.raises(RuntimeError, match="[Aa]lready.* borrowed"):
        placed.sums(**bands)
    calculator.progress = None
    assert len(placed.sums(**bands).asx) == 2


# A shell's background jobs, and what they start, ignore SIGINT unless they say otherwise.
INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv[1])
import gpp, test_calls
call = test_calls.long_calls()[sys.argv[2]]
calculator = gpp.Calculator("cpu")
print("begins", flush=True)
try:
    call(calculator)
except KeyboardInterrupt:
    print("heard", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize("name", ["sums", "many energies", "placed", "matrix"])
def test_ctrl_c_is_heard(name):
    program = [sys.executable, "-c", INTERRUPTED, os.path.dirname(__file__), name]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "begins\n"
        time.sleep(0.3)
        begin = time.perf_counter()
        running.send_signal(signal.SIGINT)
        assert running.stdout.readline() == "heard\n"
        took = time.perf_counter() - begin
    assert took < 1, took
    assert running.returncode == 0


def test_threads_take_turns_at_what_is_placed(cpu, tiny):
    placed, bands = placed_of(cpu, tiny)
    expected, found = cpu.sums(**tiny), []
    threads = [threading.Thread(target=lambda: found.append(placed.sums(**bands))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(np.array_equal(sums.asx, expected.asx) for sums in found)
