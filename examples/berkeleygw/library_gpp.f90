#include "f_defs.h"

! GPP sums by gpp. SCALAR is real in the real flavour; assignments convert it to complex.
module library_gpp_m
  use global_m
  use gpp, only: gpp_calculator, gpp_close, gpp_message, gpp_ok, gpp_open, gpp_place, gpp_release, gpp_sums_at
  implicit none
  private
  public :: library_gpp_open, library_gpp_close, library_gpp_new_q, library_gpp_place, library_gpp_sums

  ! One for each rank.
  type(gpp_calculator), save :: calculator
  ! The screening of the present q, if it is placed. gpp reads it in place, and mtxel_cor frees its arrays after each state.
  complex(DPC), allocatable, target, save :: wtilde(:, :), eps(:, :)
  logical, save :: placed = .false.
  ! Whether only SX - X + CH is computed, for CH; SX - X is zero then.
  logical, save :: sigma_alone

contains

  ! Each rank opens the device named by GPP_DEVICE: cpu (the default), gpu:0, gpu:1 and so on, or auto.
  ! gpu is the GPU with the rank's number on its host. GPP_SIGMA_ALONE, if not empty, asks for the sum alone.
  subroutine library_gpp_open()
    character(len=32) :: device, alone
    integer :: status
#ifdef MPI
    integer :: host, place
#endif

    call get_environment_variable('GPP_DEVICE', device)
    if (device == '') device = 'cpu'
    call get_environment_variable('GPP_SIGMA_ALONE', alone)
    sigma_alone = alone /= ''
#ifdef MPI
    if (device == 'gpu') then
      call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, host, mpierr)
      call MPI_Comm_rank(host, place, mpierr)
      call MPI_Comm_free(host, mpierr)
      write (device, '(a, i0)') 'gpu:', place
    end if
#endif
    call gpp_open(calculator, device, status)
    call stop_unless_ok(status)
  end subroutine library_gpp_open

  subroutine library_gpp_close()
    call gpp_close(calculator)
  end subroutine library_gpp_close

  ! To be called at each q, before its first state.
  subroutine library_gpp_new_q()
    placed = .false.
  end subroutine library_gpp_new_q

  ! Gives gpp the arrays of a q at its first state; later states have the same.
  subroutine library_gpp_place(wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv)
    complex(DPC), intent(in) :: wtilde_array(:, :)
    SCALAR, intent(in) :: I_eps_array(:, :)
    real(DP), intent(in) :: vcoul(:)
    integer, intent(in) :: inv_igp_index(:), indinv(:)
    integer :: status

    if (placed) return
    call gpp_release(calculator, status)
    call stop_unless_ok(status)
    wtilde = wtilde_array
    eps = I_eps_array
    call gpp_place(calculator, wtilde, eps, vcoul, inv_igp_index, indinv, status)
    call stop_unless_ok(status)
    placed = .true.
  end subroutine library_gpp_place

  ! Sums over the bands of e at the energies omega, with the placed screening; of each band its static CH, if static is
  ! allocated, and CH at omega(iw), if ach_n is.
  subroutine library_gpp_sums(sig, aqsn, aqsm, e, occ, omega, asx, ach, static, ach_n, iw)
    type(siginfo), intent(in) :: sig
    SCALAR, intent(in) :: aqsn(:, :), aqsm(:, :)
    real(DP), intent(in) :: e(:), occ(:), omega(:)
    complex(DPC), intent(inout) :: asx(:), ach(:)
    complex(DPC), allocatable, intent(inout) :: static(:), ach_n(:)
    integer, intent(in) :: iw
    complex(DPC), allocatable :: of_n(:, :), of_m(:, :)
    integer :: status

    of_n = aqsn
    of_m = aqsm
    ! An array that is not allocated counts as absent.
    call gpp_sums_at(calculator, of_n, of_m, e, occ, omega, asx, ach, status, sig%gamma, sig%sexcut, &
      static_ch=static, ach_of_bands=ach_n, iw=iw, sigma_alone=sigma_alone)
    call stop_unless_ok(status)
  end subroutine library_gpp_sums

  subroutine stop_unless_ok(status)
    integer, intent(in) :: status
    if (status /= gpp_ok) call die('gpp: '//gpp_message(), only_root_writes=.false.)
  end subroutine stop_unless_ok
end module library_gpp_m
