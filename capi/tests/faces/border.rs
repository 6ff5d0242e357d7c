//! Right arguments, and some of them spoilt at random: each call ends with the status that its
//! arguments deserve, names one that is wrong, writes nothing then, and the handle goes on.

use std::{ptr, thread};

use gpp_c::{
    CBands, CComplex, CFormula, CMatrixBands, CScreening, FORMULA_BERKELEYGW, FORMULA_TIME_ORDERED,
    Handle, Status, VERSION, gpp_close, gpp_matrix, gpp_message, gpp_open_version, gpp_place,
    gpp_release, gpp_set_version, gpp_sums,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

struct Draw(ChaCha8Rng);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0.next_u32() as usize % bound
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn complex(&mut self, len: usize, re: f64) -> Vec<CComplex> {
        let mut number = || f64::from(self.0.next_u32()) / f64::from(u32::MAX);
        (0..len).map(|_| CComplex { re: re + number(), im: number() }).collect()
    }
}

const NCOULS: usize = 6;
const NGPOWN: usize = 3;
const NBANDS: usize = 4;
const NW: usize = 2;
/// Bands l and m.
const BANDS: usize = 2;

const MOST: usize = NW * BANDS * BANDS;

const UNTOUCHED: CComplex = CComplex { re: 7.0, im: -7.0 };

struct Arguments {
    screening: CScreening,
    bands: CBands,
    /// In place of `bands`, where a matrix is asked for.
    matrix: CMatrixBands,
    formula: CFormula,
    nw: i64,
    omega: *const f64,
    iw: i64,
    /// `asx`, `ach`, `static_ch` and `ach_of_bands`.
    sums: [*mut CComplex; 4],
}

/// Right arguments, whose memory is not given back.
fn arguments(draw: &mut Draw) -> Arguments {
    fn array<T>(values: Vec<T>) -> *mut T {
        values.leak().as_mut_ptr()
    }
    let (rows, kind) = (NCOULS as i64, FORMULA_BERKELEYGW);
    let (e, occ) = (array(vec![-3.0, -1.0, 1.0, 2.0]), array(vec![1.0, 1.0, 0.5, 0.0]));
    Arguments {
        screening: CScreening {
            ncouls: rows,
            ngpown: NGPOWN as i64,
            ng: rows,
            wtilde: array(draw.complex(NCOULS * NGPOWN, 20.1)),
            ld_wtilde: rows,
            eps: array(draw.complex(NCOULS * NGPOWN, 0.1)),
            ld_eps: rows,
            vcoul: array(vec![1.0; NCOULS]),
            inv_igp_index: array(vec![2, 1, 5]),
            indinv: array(vec![1, 2, 3, 4, 5, 6]),
            on_device: 0,
        },
        bands: CBands {
            nbands: NBANDS as i64,
            aqsn: array(draw.complex(NCOULS * NBANDS, 0.1)).cast(),
            ld_aqsn: rows,
            aqsm: array(draw.complex(NCOULS * NBANDS, 0.1)).cast(),
            ld_aqsm: rows,
            aqsm_local: 0,
            e,
            occ,
            on_device: 0,
            single: 0,
        },
        matrix: CMatrixBands {
            bands: BANDS as i64,
            nbands: NBANDS as i64,
            a: array(draw.complex(NCOULS * NBANDS * BANDS, 0.1)),
            ld_a: rows,
            e,
            occ,
            on_device: 0,
            at_bands: 0,
        },
        formula: CFormula { kind, gamma: 0.5, sexcut: 4.0, eta: 0.0, window: 0.0 },
        nw: NW as i64,
        omega: array(vec![0.0, 0.5]),
        iw: 1,
        // With room for a matrix.
        sums: [(); 4].map(|()| array(vec![UNTOUCHED; MOST])),
    }
}

/// Sizes that no memory has, or that are negative.
const WRONG: [i64; 6] = [-1, i64::MIN, i64::MAX, 1 << 62, i64::MAX / 16, -(1 << 40)];

fn spoil_argument(a: &mut Arguments, draw: &mut Draw, is_matrix: bool) {
    // Some are the matrix's or the sums' alone.
    let which = match is_matrix && draw.below(2) == 0 {
        true => 31 + draw.below(8),
        false => draw.below(if is_matrix { 17 } else { 31 }),
    };
    let wrong = draw.of(&WRONG);
    let below_rows = draw.of(&[0, -1, NCOULS as i64 - 1, i64::MIN, i64::MAX, 1 << 61]);
    let (s, b, m) = (&mut a.screening, &mut a.bands, &mut a.matrix);
    let [asx, ach, static_ch, ach_of_bands] = &mut a.sums;
    match which {
        0 => s.ncouls = wrong,
        1 => s.ngpown = wrong,
        2 => s.ng = wrong,
        3 => match draw.below(4) {
            0 => a.formula.gamma = f64::NAN,
            1 => a.formula.kind = draw.of(&[0, -1, 3, i32::MAX]),
            2 => (a.formula.kind, a.formula.window) = (FORMULA_TIME_ORDERED, -1.0),
            _ => (a.formula.kind, a.formula.eta) = (FORMULA_TIME_ORDERED, f64::NAN),
        },
        4 => a.nw = draw.of(&[0, -1, i64::MIN, i64::MAX, 100_001]),
        5 => s.ld_wtilde = below_rows,
        6 => s.ld_eps = below_rows,
        7 => *asx = asx.wrapping_byte_add(1),
        8 => *ach = wrong_at(*ach, draw).cast_mut(),
        9 => *ach = asx.wrapping_add(draw.below(NW)),
        10 => s.wtilde = wrong_at(s.wtilde, draw),
        11 => s.eps = wrong_at(s.eps, draw),
        12 => s.vcoul = wrong_at(s.vcoul, draw),
        13 => s.inv_igp_index = wrong_at(s.inv_igp_index, draw),
        14 => s.indinv = wrong_at(s.indinv, draw),
        // No handle of a CPU takes them.
        15 => s.on_device = draw.of(&[1, 2, -1]),
        16 => a.omega = wrong_at(a.omega, draw),
        17 => b.aqsn = wrong_at(b.aqsn.cast::<CComplex>(), draw).cast(),
        18 => b.aqsm = wrong_at(b.aqsm.cast::<CComplex>(), draw).cast(),
        19 => b.e = wrong_at(b.e, draw),
        20 => b.occ = wrong_at(b.occ, draw),
        21 => b.nbands = wrong,
        22 => b.ld_aqsn = below_rows,
        23 => b.ld_aqsm = below_rows,
        24 => b.aqsm_local = draw.of(&[2, -1, i32::MAX]),
        25 => *static_ch = *asx,
        26 => *static_ch = static_ch.wrapping_byte_add(1),
        27 => *ach_of_bands = *static_ch,
        28 => a.iw = draw.of(&[-1, 2, i64::MIN, i64::MAX]),
        29 => b.single = draw.of(&[2, -1, i32::MAX]),
        30 => b.on_device = draw.of(&[1, 2, -1]),
        31 => m.bands = draw.of(&[0, -1, 8193, i64::MIN, i64::MAX]),
        32 => m.nbands = wrong,
        33 => m.ld_a = below_rows,
        34 => m.a = wrong_at(m.a, draw),
        35 => m.e = wrong_at(m.e, draw),
        36 => m.occ = wrong_at(m.occ, draw),
        37 => m.at_bands = draw.of(&[2, -1]),
        _ => m.on_device = draw.of(&[1, 2, -1]),
    }
}

/// No address of this type's.
fn wrong_at<T>(at: *const T, draw: &mut Draw) -> *const T {
    match draw.below(3) {
        0 => ptr::null(),
        // From where it is aligned: of one that is wrong already, the sum could be right.
        1 => {
            let aligned = at.wrapping_byte_sub(at.addr() % align_of::<T>());
            aligned.wrapping_byte_add(1 + draw.below(align_of::<T>() - 1))
        }
        // The last bytes of the address space: what begins there does not end.
        _ => ptr::without_provenance(usize::MAX - align_of::<T>() + 1),
    }
}

fn message() -> String {
    // SAFETY: a string, which this thread's next failure ends.
    unsafe { std::ffi::CStr::from_ptr(gpp_message()) }.to_str().expect("messages are UTF-8").into()
}

/// # Panics
/// Where a call does not end as it should.
fn calls(handle: *mut Handle, draw: &mut Draw) {
    for call in 0..5_000 {
        let mut a = arguments(draw);
        // SAFETY: they are there for good, and nobody has them but calls, which are over when they are looked at.
        let is_written = |at: *mut CComplex| unsafe { at.read() } != UNTOUCHED;
        let written = a.sums.map(|sums| (0..MOST).map(move |at| is_written(sums.wrapping_add(at))));
        let (spoiled, is_matrix) = (draw.below(4), draw.below(3) == 0);
        let rarely = draw.below(100);
        (0..spoiled).for_each(|_| spoil_argument(&mut a, draw, is_matrix));
        let nothing = ptr::without_provenance_mut(draw.below(1 << 20));
        let given = if rarely == 1 { nothing } else { handle };
        let screening = if rarely == 2 { ptr::null() } else { &raw const a.screening };
        let by = if rarely == 3 { 4 } else { 0 };
        let bands = (&raw const a.bands).wrapping_byte_add(by);
        let matrix = (&raw const a.matrix).wrapping_byte_add(by);
        let formula = &raw const a.formula;
        let sums = |handle, screening| {
            let Arguments { nw, omega: w, iw, sums: [asx, ach, static_ch, each], .. } = a;
            // SAFETY: what is neither null, misaligned nor impossible is all there.
            unsafe {
                if is_matrix {
                    return gpp_matrix(handle, screening, matrix, nw, w, formula, asx, ach);
                }
                gpp_sums(handle, screening, bands, nw, w, formula, asx, ach, static_ch, iw, each)
            }
        };
        // Some calls are of a screening that is placed before, which fails where a call of it would.
        let is_placed = draw.below(4) == 0;
        let placed = match is_placed {
            // SAFETY: as above; it stays as long as it is placed.
            true => unsafe { gpp_place(given, screening) },
            false => Status::Ok,
        };
        let screening = if is_placed { ptr::null() } else { screening };
        let status = if placed == Status::Ok { sums(given, screening) } else { placed };
        if is_placed && given == handle {
            assert_eq!(gpp_release(handle), Status::Ok);
            assert_eq!(sums(handle, ptr::null()), Status::BadArgument);
        }
        let elements = if is_matrix { a.matrix.bands.wrapping_mul(a.matrix.bands) } else { 1 };
        let all = a.nw.wrapping_mul(elements);
        if spoiled == 0 && !(1..=3).contains(&rarely) {
            assert_eq!(status, Status::Ok, "call {call}: {}", message());
            let counts = written.map(|is_written| is_written.filter(|is| *is).count() as i64);
            let of_bands = if is_matrix { 0 } else { a.bands.nbands };
            assert_eq!(counts, [all, all, of_bands, of_bands], "call {call}");
        } else {
            assert_eq!(status, Status::BadArgument, "call {call}: {}", message());
            assert!(!message().is_empty(), "call {call}");
            assert!(written.into_iter().flatten().all(|is_written| !is_written), "call {call}");
        }
    }
}

pub fn wrong_arguments() -> crate::Outcome {
    let of_seed = |seed| {
        move || {
            let mut handle = ptr::null_mut();
            let device = c"cpu".as_ptr();
            // SAFETY: a string with its end, and a place for a handle.
            assert_eq!(unsafe { gpp_open_version(device, VERSION, 0, &mut handle) }, Status::Ok);
            // SAFETY: a string with its end.
            assert_eq!(unsafe { gpp_set_version(handle, c"cpu:threads".as_ptr()) }, Status::Ok);
            calls(handle, &mut Draw(ChaCha8Rng::seed_from_u64(seed)));
            assert_eq!(gpp_close(handle), Status::Ok);
            assert_eq!(gpp_close(handle), Status::BadArgument);
        }
    };
    // Its end tells of a thread that panicked.
    thread::scope(|scope| (0..2).for_each(|seed| drop(scope.spawn(of_seed(seed)))));
    Ok(())
}
