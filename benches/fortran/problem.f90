! What all loops of the yardstick are given, declared on the Rust side as well.
module problem
  use, intrinsic :: iso_c_binding, only: c_int, c_double, c_ptr, c_f_pointer
  implicit none
  private
  public :: c_int, arrays, view, of

  integer, parameter, public :: dp = c_double
  ! Smallest |delw|**2 that the second branch takes.
  real(dp), parameter, public :: tol_zero = 1e-12_dp

  ! Extents, limits and addresses.
  type, bind(c) :: arrays
    integer(c_int) :: nbands, ngpown, ncouls, nw
    real(c_double) :: limittwo, limitone, sexcut
    type(c_ptr) :: wtilde, eps, aqsn, aqsm_local, wx, vcoul_loc, occ
  end type arrays

  ! The same as Fortran's arrays.
  type :: view
    complex(dp), pointer, contiguous :: wtilde(:, :)     ! (ncouls, ngpown)
    complex(dp), pointer, contiguous :: eps(:, :)        ! (ncouls, ngpown)
    complex(dp), pointer, contiguous :: aqsn(:, :)       ! (ncouls, nbands)
    complex(dp), pointer, contiguous :: aqsm_local(:, :) ! (ngpown, nbands)
    real(dp), pointer, contiguous :: wx(:, :)            ! (nw, nbands)
    real(dp), pointer, contiguous :: vcoul_loc(:)        ! (ngpown)
    real(dp), pointer, contiguous :: occ(:)              ! (nbands)
  end type view

contains

  function of(a) result(v)
    type(arrays), intent(in) :: a
    type(view) :: v
    call c_f_pointer(a%wtilde, v%wtilde, [a%ncouls, a%ngpown])
    call c_f_pointer(a%eps, v%eps, [a%ncouls, a%ngpown])
    call c_f_pointer(a%aqsn, v%aqsn, [a%ncouls, a%nbands])
    call c_f_pointer(a%aqsm_local, v%aqsm_local, [a%ngpown, a%nbands])
    call c_f_pointer(a%wx, v%wx, [a%nw, a%nbands])
    call c_f_pointer(a%vcoul_loc, v%vcoul_loc, [a%ngpown])
    call c_f_pointer(a%occ, v%occ, [a%nbands])
  end function of
end module problem
