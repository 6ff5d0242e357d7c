// gpp: BerkeleyGW's GPP self-energy kernel on GPUs and CPUs. Generated from capi/src by cbindgen.

#ifndef GPP_H
#define GPP_H

#include <stdint.h>

#define GPP_VERSION 200

/*
 `kind` of BerkeleyGW's formula, with a near form and a cutoff.
 */
#define GPP_FORMULA_BERKELEYGW 1

/*
 `kind` of the time-ordered formula of other plasmon-pole codes, without either. With the occupation f of a band and
 w = ω − e(n), SX − X and CH add up to ½·vcoul·ω̃·eps·M·[(1 − f)/(w − ω̃ + iη) + f/(w + ω̃ − iη)].
 */
#define GPP_FORMULA_TIME_ORDERED 2

/*
 `precision` of terms in FP64, the default.
 */
#define GPP_PRECISION_DOUBLE 1

/*
 `precision` of terms in FP32, but for the pairs with the largest share of them, with a bound on the error.
 */
#define GPP_PRECISION_SINGLE 2

/*
 Result of a call; `gpp_message` has the reason of a failure. The handle stays usable.
 */
enum gpp_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   Success.
   */
  GPP_STATUS_OK = 0,
  /*
   An invalid argument, which the message names.
   */
  GPP_STATUS_BAD_ARGUMENT = 1,
  /*
   The device does not exist.
   */
  GPP_STATUS_NO_DEVICE = 2,
  /*
   The device or its driver failed.
   */
  GPP_STATUS_DEVICE_FAILED = 3,
  /*
   Too little memory on the host or on the device.
   */
  GPP_STATUS_MEMORY = 4,
  /*
   Stopped by the callback of `gpp_set_progress`.
   */
  GPP_STATUS_STOPPED = 5,
  /*
   Internal error.
   */
  GPP_STATUS_INTERNAL = 6,
  /*
   Single precision is off by more than its bound in the sample of `gpp_last_error_found`: the device fails, or gpp.
   */
  GPP_STATUS_INACCURATE = 7,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum gpp_status gpp_status;
#else
typedef int32_t gpp_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 An open device. The pointer is opaque.
 */
typedef struct gpp_handle gpp_handle;

/*
 Callback with the fraction of a calculation done, from 0 to 1, and the registered context. A return value
 other than 0 stops the calculation: the call ends with `GPP_STATUS_STOPPED`. It runs on the calling thread.
 Functions of this handle fail there with `GPP_STATUS_BAD_ARGUMENT`. It must return: an exception that leaves
 it aborts the process, and after a longjmp out of it the handle cannot be used or closed.
 */
typedef int32_t (*gpp_progress)(double part, void *context);

/*
 A complex number, laid out as C's `double _Complex`, C++'s `std::complex<double>` and Fortran's
 `complex(c_double_complex)`: cast a pointer to one.
 */
typedef struct gpp_complex {
  /*
   Real part.
   */
  double re;
  /*
   Imaginary part.
   */
  double im;
} gpp_complex;

/*
 The screening of one MPI rank at one q. Arrays are column-major, the first index fastest, in the memory of
 the host; on a handle of one GPU `wtilde` and `eps` may be on the GPU if `on_device` says so. The caller owns
 them; a call only reads them. Dimensions are from 0 to 2147483647; most problems are limited before that, by
 memory or by 4294967295 elements of an array.
 */
typedef struct gpp_screening {
  /*
   G vectors, the rows of `wtilde` and `eps`.
   */
  int64_t ncouls;
  /*
   G' vectors of this rank, the columns of `wtilde` and `eps`.
   */
  int64_t ngpown;
  /*
   Length of `indinv`.
   */
  int64_t ng;
  /*
   Plasmon poles in eV, `wtilde_array(ig, igp)`.
   */
  const struct gpp_complex *wtilde;
  /*
   Elements from one column of `wtilde` to the next; at least `ncouls`. If it is more, a call copies.
   */
  int64_t ld_wtilde;
  /*
   Identity less the inverse dielectric matrix, `I_eps_array(ig, igp)`, no unit.
   */
  const struct gpp_complex *eps;
  /*
   Elements from one column of `eps` to the next; at least `ncouls`. If it is more, a call copies.
   */
  int64_t ld_eps;
  /*
   Coulomb interaction of each G, `(ncouls)`; the sums have its unit.
   */
  const double *vcoul;
  /*
   G' of each column, `(ngpown)`: an index into `indinv`, from 1 to `ng`. Several columns of a G' are several poles.
   */
  const int32_t *inv_igp_index;
  /*
   Row of each G vector, `(ng)`, from 1 to `ncouls`; other values mean no row, which adds nothing.
   */
  const int32_t *indinv;
  /*
   1 if `wtilde` and `eps` are in the memory of the handle's GPU, else 0.
   */
  int32_t on_device;
} gpp_screening;

/*
 The bands that are summed over. Arrays as in `gpp_screening`.
 */
typedef struct gpp_bands {
  /*
   Bands.
   */
  int64_t nbands;
  /*
   Matrix elements of G, `aqsntemp(ig, n)`, `ncouls` rows, no unit: of `gpp_complex`, or with `single` 1 of two floats.
   */
  const void *aqsn;
  /*
   Elements from one column of `aqsn` to the next; at least `ncouls`. If it is more, a call copies.
   */
  int64_t ld_aqsn;
  /*
   Matrix elements of G', no unit: `aqsmtemp(ig, n)` with `ncouls` rows, from which the rows of G' are copied,
   or with `aqsm_local` 1 `(igp, n)` with `ngpown` rows.
   */
  const void *aqsm;
  /*
   Elements from one column of `aqsm` to the next; at least its rows.
   */
  int64_t ld_aqsm;
  /*
   0 if `aqsm` has a row for each G, 1 if it has one for each G'.
   */
  int32_t aqsm_local;
  /*
   Energy of each band in eV, `(nbands)`.
   */
  const double *e;
  /*
   Occupation of each band, from 0 to 1, `(nbands)`.
   */
  const double *occ;
  /*
   1 if `aqsn` and `aqsm` are in the memory of the handle's GPU, else 0.
   */
  int32_t on_device;
  /*
   1 if `aqsn` and `aqsm` are in single precision, from which a call makes a copy in double, else 0. On the host only.
   */
  int32_t single;
} gpp_bands;

/*
 What a term is.
 */
typedef struct gpp_formula {
  /*
   `GPP_FORMULA_BERKELEYGW` or `GPP_FORMULA_TIME_ORDERED`; no other number is allowed, zero neither.
   */
  int32_t kind;
  /*
   BerkeleyGW's distance from a pole in eV below which the near form of a term applies, `sig_gamma`, by default 0.5.
   */
  double gamma;
  /*
   BerkeleyGW's bound on |ssx| / |eps| for energies below the band, `sexcut`, by default 4; larger terms are dropped,
   with infinity none.
   */
  double sexcut;
  /*
   Broadening η of the time-ordered formula in eV.
   */
  double eta;
  /*
   Its window in eV, zero for none: ABINIT's zcut, the distance from a real pole within which the broadening is as
   large; eta must be zero, and Σ alone is summed. Matrices need a CPU.
   */
  double window;
} gpp_formula;

/*
 One of several states of a call, and where its results go. Arrays as in `gpp_screening`; those of states may be the
 same, or parts of larger ones.
 */
typedef struct gpp_state {
  /*
   The bands that are summed over, with the matrix elements of this state.
   */
  struct gpp_bands bands;
  /*
   Energies, from 1 to 100000.
   */
  int64_t nw;
  /*
   Energies in eV, `(nw)`.
   */
  const double *omega;
  /*
   Screened exchange, `(nw)`, or null.
   */
  struct gpp_complex *asx;
  /*
   Coulomb hole, or if `asx` is null the self-energy, `(nw)`.
   */
  struct gpp_complex *ach;
  /*
   Derivative of the self-energy, as of `gpp_sums_and_derivative`, `(nw)`, or null; with it `asx` is null.
   */
  struct gpp_complex *derivative;
} gpp_state;

/*
 The bands l and m of a matrix, and the bands n that are summed over. Arrays as in `gpp_screening`.
 */
typedef struct gpp_matrix_bands {
  /*
   Bands l and m, from 1 to 8192.
   */
  int64_t bands;
  /*
   Bands n.
   */
  int64_t nbands;
  /*
   Matrix elements of band l with band n, `a(ig, n, l)`, no unit: what `aqsntemp(ig, n)` is if l is the
   state. Column (n, l) begins at element `ld_a * (n + nbands * l)`, both counted from 0.
   */
  const struct gpp_complex *a;
  /*
   Elements from one column of `a` to the next; at least `ncouls`. If it is more, a call copies.
   */
  int64_t ld_a;
  /*
   Energy of each band n in eV, `(nbands)`.
   */
  const double *e;
  /*
   Occupation of each band n, from 0 to 1, `(nbands)`.
   */
  const double *occ;
  /*
   1 if `a` is in the memory of the handle's GPU, else 0. A call copies it to the host.
   */
  int32_t on_device;
  /*
   1 if `omega` has the energy of each band l, so that `nw` is `bands`; else 0. The result is then two
   matrices, as QSGW and GWPT use them.
   */
  int32_t at_bands;
} gpp_matrix_bands;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The library's version, such as "0.2.0", a static string.
 */
const char *gpp_version(void);

/*
 The library's version as a number, as `GPP_VERSION` is the header's.
 */
int32_t gpp_version_number(void);

/*
 Opens a device: "cpu", "gpu", "gpu:0", "gpu:1" and so on, or "auto", which is the first GPU, or the CPU if
 there is none. Writes a handle to `handle`, null after a failure. Close it with `gpp_close`.

 Programs in C use `gpp_open`. `version` is the `GPP_VERSION` of the header that the program was compiled with;
 another minor version, whose structures may differ, is refused. `first_index` is the index of a first element
 in messages, 0 or 1.

 # Safety
 `device` is null or a null-terminated string; `handle` is null or writable.
 */
gpp_status gpp_open_version(const char *device,
                            int32_t version,
                            int32_t first_index,
                            struct gpp_handle **handle);

/*
 `gpp_open_version` with indices from 0. In C a macro of this name passes the version of the header; the function
 itself, for whoever looks it up by name, passes the library's.

 # Safety
 As of `gpp_open_version`.
 */
gpp_status gpp_open(const char *device,
                    struct gpp_handle **handle);

/*
 Closes a handle after calls in progress have finished; calls that are waiting fail with
 `GPP_STATUS_BAD_ARGUMENT`. Null does nothing.
 */
gpp_status gpp_close(struct gpp_handle *handle);

/*
 Selects a version of `gpp list`, such as "v13" or "cpu:paired"; "best", the default, depends on the problem.
 Waits for calls in progress. After a failure the selection is unchanged.

 # Safety
 `id` is null or a null-terminated string.
 */
gpp_status gpp_set_version(struct gpp_handle *handle, const char *id);

/*
 Sets the precision of terms, `GPP_PRECISION_DOUBLE` or `GPP_PRECISION_SINGLE`. Single is of the self-energy alone, so
 `gpp_sums` then needs a null `asx`, and `gpp_matrix` fails. As many pairs are summed in double, at most one in a
 hundred, as bound the error by `tolerance` times the sum of the sizes of all terms, by default 1e-7; without so many
 the bound is larger: `gpp_last_error_bound`. Matrix elements on a GPU are copied to the host. After a failure nothing
 is changed.
 */
gpp_status gpp_set_precision(struct gpp_handle *handle,
                             int32_t precision,
                             double tolerance);

/*
 Sets the stream that produces the caller's arrays on the GPU, a `CUstream` or `cudaStream_t` of the device's
 primary context, which the CUDA runtime uses; null is the default stream. A call that reads such arrays
 waits for its pending work. The stream must exist as long as it is set.

 # Safety
 `stream` is such a stream or null.
 */
gpp_status gpp_set_stream(struct gpp_handle *handle, void *stream);

/*
 Registers a callback with the fraction done, from 0 to 1: about every 10 ms on the calling thread, and at
 the end. A return value other than 0 ends the call with `GPP_STATUS_STOPPED`, within 50 ms on a CPU, on a
 GPU after what is launched. Results do not depend on it. Null removes it.

 # Safety
 `progress` may be called with `context` as long as it is set.
 */
gpp_status gpp_set_progress(struct gpp_handle *handle, gpp_progress progress, void *context);

/*
 Places a screening for calls of `gpp_sums` and `gpp_matrix` with a null `screening`, until the next one or
 `gpp_release`. On one GPU `wtilde` and `eps` stay there from the first call on, if there is room. Keep
 `wtilde` and `eps` unchanged meanwhile; small arrays are copied. Matrices on the GPU are copied to the host
 here, once. After a failure the earlier screening is still placed.

 # Safety
 As of `gpp_sums`; `wtilde` and `eps` stay valid and unchanged while they are placed.
 */
gpp_status gpp_place(struct gpp_handle *handle, const struct gpp_screening *screening);

/*
 Releases the placed screening, if there is one.
 */
gpp_status gpp_release(struct gpp_handle *handle);

/*
 Sets the number of CPU threads, 1 to 65535. 0 restores the default: `OMP_NUM_THREADS` at `gpp_open`, or else
 what the affinity mask and the cgroup of the opening thread allow. Results do not depend on it. Threads
 inherit the mask of the thread that calls first and are bound to no core. Waits for calls in progress. After
 a failure the number is unchanged.
 */
gpp_status gpp_set_threads(struct gpp_handle *handle, int32_t threads);

/*
 Number of CPU threads of a calculation; 0 for an invalid handle. Waits for calls in progress, as all queries
 do.
 */
int32_t gpp_threads(const struct gpp_handle *handle);

/*
 Name of the device, valid until this thread calls the function again; empty for an invalid handle.
 */
const char *gpp_device_name(const struct gpp_handle *handle);

/*
 The version of the last `gpp_sums` or `gpp_matrix`, valid until this thread calls the function again; empty
 if none ran, and for an invalid handle.
 */
const char *gpp_last_version(const struct gpp_handle *handle);

/*
 Kernel time of the last `gpp_sums` or `gpp_matrix` in seconds, on several GPUs of the one that takes longest.
 0 if none ran, and for an invalid handle.
 */
double gpp_last_seconds(const struct gpp_handle *handle);

/*
 Time of the last whole `gpp_sums` or `gpp_matrix` in seconds: in addition to the kernels its checks, copies and
 uploads, and lists of pairs, which a placed screening keeps for the next call with the same energies.
 */
double gpp_last_call_seconds(const struct gpp_handle *handle);

/*
 What single precision may have lost of the self-energy at any energy in the last `gpp_sums`, or at most of one state in
 the last `gpp_sums_of_states`, in the unit of `vcoul`. The caller sums it over ranks. 0 in double precision, if none
 ran, and for an invalid handle; infinite of a version without a bound.
 */
double gpp_last_error_bound(const struct gpp_handle *handle);

/*
 What single precision has lost at most, of the energies, of the sums of one group of columns in 48, at least of one,
 which are summed in double too: otherwise as `gpp_last_error_bound`. A call in which this is more than the bound fails.
 */
double gpp_last_error_found(const struct gpp_handle *handle);

/*
 Reason of the last failed call of this thread, valid until another one fails; empty if none did.
 */
const char *gpp_message(void);

/*
 Computes screened exchange and Coulomb hole, summed over bands, G' and G, at `nw` energies `omega` in eV, 1
 to 100000 of them, with the zero of the band energies. Writes them to `asx` and `ach`, `(nw)` each, in the
 unit of `vcoul`. They are of this rank's G': the caller sums them over ranks. After a failure they are
 unchanged.

 If `asx` is null, only their sum is computed, the self-energy, and written to `ach`: on a GPU this takes up to a
 third less time, in single precision (`gpp_set_precision`) less than half.

 If `static_ch` is not null, the static CH of each band is written there, `(nbands)`: the sum of `-vcoul * eps *
 conj(aqsm) * aqsn / 2` over G' and G, as in BerkeleyGW's `acc_static_ch` for `exact_static_ch 1`. If `ach_of_bands`
 is not null, CH of each band at energy `iw` is written there, `(nbands)`; else `iw` is ignored. The first energy is 0,
 or 1 if the handle counts from 1.

 A null `screening` is the placed one, a null `formula` has BerkeleyGW's defaults. Matrices are where their
 structures say; results and other arrays are on the host. Pointers are aligned to 8 bytes, to `int32_t` to 4,
 matrices on a GPU to 16. Results must not overlap each other or an input. Additional memory is needed for the
 rows of `aqsm`, for arrays whose columns have gaps, and for what a version reorders. Matrix elements on a GPU
 are not checked: NaN gives NaN.

 # Safety
 Pointers that are not null point to as many elements as the dimensions say. No thread changes inputs during
 the call, nor does a stream but that of `gpp_set_stream` before; no thread reads results meanwhile.
 */
gpp_status gpp_sums(struct gpp_handle *handle,
                    const struct gpp_screening *screening,
                    const struct gpp_bands *bands,
                    int64_t nw,
                    const double *omega,
                    const struct gpp_formula *formula,
                    struct gpp_complex *asx,
                    struct gpp_complex *ach,
                    struct gpp_complex *static_ch,
                    int64_t iw,
                    struct gpp_complex *ach_of_bands);

/*
 Computes the self-energy alone, as `gpp_sums` with a null `asx`, and its derivative with respect to `omega`, and writes
 them to `sigma` and `derivative`, `(nw)` each, in the unit of `vcoul` and in that per eV. The version is v15 or
 cpu:alone, the precision double. Other arguments are as in `gpp_sums`.

 # Safety
 As of `gpp_sums`.
 */
gpp_status gpp_sums_and_derivative(struct gpp_handle *handle,
                                   const struct gpp_screening *screening,
                                   const struct gpp_bands *bands,
                                   int64_t nw,
                                   const double *omega,
                                   const struct gpp_formula *formula,
                                   struct gpp_complex *sigma,
                                   struct gpp_complex *derivative);

/*
 Computes for each of `count` states what `gpp_sums` with the placed screening computes, to the bit, and writes it to
 `asx` and `ach` of the state; after a failure none are written. One call takes less time than a call for each: on a
 GPU the arrays of some are copied while others are summed. `asx` is null for all states or for none, `derivative` too;
 a null `asx` means as in `gpp_sums`. `gpp_last_seconds` are those of all states added up, which on a GPU may run at the same time.

 Messages name the state, by its index. Other arguments are as in `gpp_sums`.

 # Safety
 As of `gpp_sums`.
 */
gpp_status gpp_sums_of_states(struct gpp_handle *handle,
                              int64_t count,
                              const struct gpp_state *states,
                              const struct gpp_formula *formula);

/*
 Computes all elements of screened exchange and Coulomb hole between bands l and m, summed over bands n, G'
 and G, at `nw` energies `omega` in eV. Writes them to `sx` and `ch`, `(bands, bands, nw)` each, l fastest,
 then m: element (l, m) at energy iw is entry `l + bands * (m + bands * iw)`, counted from 0. For l = m they
 are what `gpp_sums` returns with the elements of l as `aqsn` and `aqsm`. They have the unit of `vcoul` and
 are of this rank's G', to be summed over ranks by the caller. After a failure they are unchanged.

 With `at_bands` they are `(bands, bands, 2)`: rows at the energies of their bands, `Sigma_lm(omega_l)`, then columns,
 `Sigma_lm(omega_m)`.

 If `sx` is null, only their sum is computed, the self-energy, and written to `ch`: this takes up to a third less
 time.

 Other arguments are as in `gpp_sums`; the screening may be on the GPU. The version is the fastest for
 matrices, whatever `gpp_set_version` says: "ring", "m16n8k16" or "wide" on recent GPUs, "cpu" on a CPU. A
 GPU keeps only the placed screening for the next call.

 # Safety
 As of `gpp_sums`.
 */
gpp_status gpp_matrix(struct gpp_handle *handle,
                      const struct gpp_screening *screening,
                      const struct gpp_matrix_bands *bands,
                      int64_t nw,
                      const double *omega,
                      const struct gpp_formula *formula,
                      struct gpp_complex *sx,
                      struct gpp_complex *ch);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GPP_H */

#define gpp_open(device, handle) gpp_open_version(device, GPP_VERSION, 0, handle)
