/* gpp: BerkeleyGW's GPP self-energy kernel on GPUs and processors. Generated from capi/src by cbindgen. */

#ifndef GPP_H
#define GPP_H

#include <stdint.h>

/*
 How a call ended. What went wrong is in `gpp_message`. A handle stays usable after each of them.
 */
enum gpp_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /*
   All went well.
   */
  GPP_STATUS_OK = 0,
  /*
   An argument that cannot be taken; the message names it.
   */
  GPP_STATUS_BAD_ARGUMENT = 1,
  /*
   The device asked for is not there.
   */
  GPP_STATUS_NO_DEVICE = 2,
  /*
   The device or its driver refused an operation.
   */
  GPP_STATUS_DEVICE_FAILED = 3,
  /*
   Too little memory on the host or on the device.
   */
  GPP_STATUS_MEMORY = 4,
  /*
   It was asked to stop. No function asks for that yet.
   */
  GPP_STATUS_STOPPED = 5,
  /*
   A fault of the library.
   */
  GPP_STATUS_INTERNAL = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum gpp_status gpp_status;
#else
typedef int32_t gpp_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/*
 An open device, by which calls name it. It points to nothing that a caller may read.
 */
typedef struct gpp_handle gpp_handle;

/*
 A complex number: the real part, then the imaginary one. C's `double _Complex`, C++'s
 `std::complex<double>` and Fortran's `complex(c_double_complex)` lie in memory like this: cast a pointer
 to one.
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
 The screening of one rank at one q. All arrays are in the host's memory, column-major, the first index
 fastest. The caller owns them; they are read during a call and never kept. Extents are from 1 to
 2147483647; most problems are bounded before that, by memory or by 4294967295 elements of an array.
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
   Plasmon-pole modes in eV, `wtilde_array(ig, igp)`.
   */
  const struct gpp_complex *wtilde;
  /*
   Elements from one column of `wtilde` to the next; at least `ncouls`. Where it is more, a call copies.
   */
  int64_t ld_wtilde;
  /*
   Identity less the inverse dielectric matrix, `I_eps_array(ig, igp)`, no unit.
   */
  const struct gpp_complex *eps;
  /*
   Elements from one column of `eps` to the next; at least `ncouls`. Where it is more, a call copies.
   */
  int64_t ld_eps;
  /*
   Coulomb interaction of each G, `(ncouls)`; the sums have its unit.
   */
  const double *vcoul;
  /*
   G' of each column, `(ngpown)`: an index into `indinv`, from 1 to `ng`.
   */
  const int32_t *inv_igp_index;
  /*
   Row of each G vector, `(ng)`: from 1 to `ncouls`; others have none, and add nothing.
   */
  const int32_t *indinv;
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
   Matrix elements of G, `aqsntemp(ig, n)`, `ncouls` rows, no unit.
   */
  const struct gpp_complex *aqsn;
  /*
   Elements from one column of `aqsn` to the next; at least `ncouls`. Where it is more, a call copies.
   */
  int64_t ld_aqsn;
  /*
   Matrix elements of G', no unit: `aqsmtemp(ig, n)`, `ncouls` rows, of which those of G' are taken; or
   `(igp, n)`, `ngpown` rows, where `aqsm_local` is 1.
   */
  const struct gpp_complex *aqsm;
  /*
   Elements from one column of `aqsm` to the next; at least its rows.
   */
  int64_t ld_aqsm;
  /*
   0 where `aqsm` has a row for each G, 1 where it has one for each G'.
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
} gpp_bands;

/*
 Limits of the formula; BerkeleyGW's are 0.5 and 4.
 */
typedef struct gpp_formula {
  /*
   Width of a pole in eV, `sig_gamma`.
   */
  double gamma;
  /*
   Bound on |ssx| / |eps| below the band, `sexcut`.
   */
  double sexcut;
} gpp_formula;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 The library's version, as in "0.1.0": a string that is always there.
 */
const char *gpp_version(void);

/*
 Opens a device: "cpu", "gpu", "gpu:0", "gpu:1" and so on, or "auto", which is the first GPU, or the
 processor where there is none. Writes a handle to `handle`, null after a failure. The caller gives it
 back to `gpp_close`.

 # Safety
 `device` is null or a string with its end; `handle` is null or may be written.
 */
gpp_status gpp_open(const char *device, struct gpp_handle **handle);

/*
 Gives a handle back, once whoever calculates with it has finished; those who wait for their turn get
 `GPP_STATUS_BAD_ARGUMENT`. Null is taken and does nothing.
 */
gpp_status gpp_close(struct gpp_handle *handle);

/*
 Runs this version, of those that `gpp list` prints, in place of the fastest for each problem, as in "v13"
 or "cpu:paired"; "best" is the fastest again. Waits for whoever calculates with the handle. After a failure
 it stays what it was.

 # Safety
 `id` is null or a string with its end.
 */
gpp_status gpp_set_version(struct gpp_handle *handle, const char *id);

/*
 What the device is called: a string that is valid until this thread calls the function again; empty for
 what is no handle.
 */
const char *gpp_device_name(const struct gpp_handle *handle);

/*
 The version that `gpp_sums` ran last: a string that is valid until this thread calls the function again;
 empty where none ran, and for what is no handle.
 */
const char *gpp_last_version(const struct gpp_handle *handle);

/*
 Why the last call of this handle that failed did so, on whatever thread. For null, and for what is no
 handle, it is the last call of this thread that failed, `gpp_open` for instance. A string that is valid
 until this thread calls the function again; empty where nothing failed.
 */
const char *gpp_message(const struct gpp_handle *handle);

/*
 Sums screened exchange and Coulomb hole over bands, G' and G at `nw` energies `omega` in eV, from 1 to
 100000 of them; the zero of energy is that of the bands. Writes them to `asx` and `ach`, `(nw)` each, in
 the unit of `vcoul`: of this rank's G', to be summed over ranks by the caller. After a failure they are
 as they were.

 All pointers are to the host's memory; pointers to a device's are not taken. They are at multiples of 8
 bytes, those to `int32_t` of 4. `asx` and `ach` share no byte with each other or anything else that is
 given. A null `formula` is BerkeleyGW's. Memory beside the caller's is needed for the rows of `aqsm`, for
 copies of arrays whose columns do not follow each other, and for what a version lays out anew.

 # Safety
 Pointers that are not null point to as many elements as the extents say, which no thread changes during
 the call; no thread reads `asx` and `ach` meanwhile.
 */
gpp_status gpp_sums(struct gpp_handle *handle,
                    const struct gpp_screening *screening,
                    const struct gpp_bands *bands,
                    int64_t nw,
                    const double *omega,
                    const struct gpp_formula *formula,
                    struct gpp_complex *asx,
                    struct gpp_complex *ach);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GPP_H */
