! The module and the routine of examples/berkeleygw, among what they use of BerkeleyGW, against sums written out here.
#include "f_defs.h"
module global_m
  use, intrinsic :: iso_fortran_env, only: DP => real64
  implicit none
  integer, parameter :: DPC = DP

  type siginfo
    integer :: nvband = 8, ncrit = 0, fdf = 2, exact_ch = 1
    real(DP) :: efermi = 0, tol = 1e-6_DP, dw = 0.5_DP, gamma = 0.5_DP, sexcut = 4
  end type siginfo
  type bands_of_ranks
    integer, allocatable :: ntband_dist(:), indext_dist(:, :)
  end type bands_of_ranks
  type states
    real(DP), allocatable :: ekq(:, :)
  end type states
  type timings
    integer :: m_cor_sx_ch = 0, running = 0
  contains
    procedure :: start, stop
  end type timings

contains

  subroutine start(this, what)
    class(timings), intent(inout) :: this
    integer, intent(in) :: what
    this%running = this%running + 1 + what
  end subroutine start

  subroutine stop(this, what)
    class(timings), intent(inout) :: this
    integer, intent(in) :: what
    this%running = this%running - 1 - what
  end subroutine stop

  subroutine die(message, only_root_writes)
    character(len=*), intent(in) :: message
    logical, intent(in) :: only_root_writes
    print *, message, only_root_writes
    error stop
  end subroutine die
end module global_m

#include "library_gpp.f90"

program berkeleygw
  use global_m
  use library_gpp_m
  use miniapp, only: loop, make, ncouls, nbands
  implicit none
  integer, parameter :: ngpown = 50, ispin = 1
  real(DP), parameter :: e_lk = 0, e_lk_ep_braket = 0, wxi(3) = 0
  logical, parameter :: ep_mtxel = .false.
  type(siginfo) :: sig
  type(bands_of_ranks) :: peinf
  type(states) :: wfnkq
  type(timings) :: timing
  complex(DPC), allocatable :: wtilde_array(:, :), eps(:, :), of_n(:, :), of_m(:, :)
  SCALAR, allocatable :: I_eps_array(:, :), aqsntemp(:, :), aqsmtemp(:, :)
  SCALAR :: asxtemp(3), achtemp(3), acht_n1_loc(nbands), achtcor_n1(nbands)
  real(DP), allocatable :: vcoul(:), e(:), occ(:), omega(:)
  integer, allocatable :: inv_igp_index(:), indinv(:)
  complex(DPC) :: asx(3), ach(3), static
  real(DP) :: sizes(3), size_of_static
  integer :: nstart, nend, ipe, n, ig, my_igp, igp
  character(len=1) :: alone

  call make(ngpown, wtilde_array, eps, vcoul, inv_igp_index, indinv, of_n, of_m, e, occ, omega)
  I_eps_array = SCALARIFY(eps)
  eps = I_eps_array
  of_n = SCALARIFY(of_n)
  of_m = SCALARIFY(of_m)
  ! A band at the Fermi level. Bands of two ranks, one more on the first.
  sig%efermi = e(8)
  occ(8) = 0.5_DP
  wfnkq%ekq = reshape(e, [nbands, 1])
  peinf%ntband_dist = [nbands/2 + 1, nbands/2 - 1]
  allocate (peinf%indext_dist(nbands/2 + 1, 2), source=0)
  peinf%indext_dist(:, 1) = [(n, n=nbands, nbands/2, -1)]
  peinf%indext_dist(:nbands/2 - 1, 2) = [(n, n=1, nbands/2 - 1)]

  call get_environment_variable('GPP_SIGMA_ALONE', alone)
  call library_gpp_open()
  do nstart = 1, 2
    nend = merge(3, 2, nstart == 1)
    ! Another q.
    I_eps_array = nstart*I_eps_array
    eps = I_eps_array
    call library_gpp_new_q()
    asxtemp = 0
    achtemp = 0
    acht_n1_loc = 0
    achtcor_n1 = 0
    do ipe = 1, 2
      aqsntemp = SCALARIFY(of_n(:, max(1, peinf%indext_dist(:, ipe))))
      aqsmtemp = SCALARIFY(of_m(:, max(1, peinf%indext_dist(:, ipe))))
      call sigma_gpp_library()
    end do
    call loop(wtilde_array, eps, vcoul, inv_igp_index, indinv, of_n, of_m, e, occ, omega, asx, ach, sizes)
    if (alone /= '') then
      ach = asx + ach
      asx = 0
    end if
    do n = nstart, nend
      call compare('asxtemp', asxtemp(n), asx(n), sizes(n))
      call compare('achtemp', achtemp(n), ach(n), sizes(n))
    end do
    do n = 1, nbands
      call loop(wtilde_array, eps, vcoul, inv_igp_index, indinv, of_n(:, n:n), of_m(:, n:n), e(n:n), occ(n:n), &
        omega, asx, ach, sizes)
      call compare('acht_n1_loc', acht_n1_loc(n), ach(2), sizes(2))
      ! The partial static CH of a band is minus half of the sum of all its terms, and the remainder less half of that.
      static = 0
      size_of_static = 0
      do my_igp = 1, ngpown
        igp = indinv(inv_igp_index(my_igp))
        if (igp < 1 .or. igp > ncouls) cycle
        do ig = 1, ncouls
          static = static - 0.5_DP*vcoul(igp)*eps(ig, my_igp)*conjg(of_m(igp, n))*of_n(ig, n)
          size_of_static = size_of_static + 0.5_DP*vcoul(igp)*abs(eps(ig, my_igp)*of_m(igp, n)*of_n(ig, n))
        end do
      end do
      if (.not. abs(SCALARIFY(static)) > 1e-6_DP*size_of_static) error stop 'the static CH cancels'
      call compare('achtcor_n1', achtcor_n1(n), -static/2, size_of_static)
    end do
  end do
  call library_gpp_close()
  if (timing%running /= 0) error stop 'timing'
  print '(a)', 'berkeleygw.f90: all as expected'

contains

#include "sigma_gpp_library.inc"

  ! Each term has up to 32 roundings in the loops, and as many additions follow as there are terms.
  subroutine compare(what, found, expected, size_of_terms)
    character(len=*), intent(in) :: what
    SCALAR, intent(in) :: found
    complex(DPC), intent(in) :: expected
    real(DP), intent(in) :: size_of_terms
    real(DP) :: most
    most = (32 + real(ncouls*ngpown*nbands, DP))*epsilon(most)*size_of_terms
    if (.not. abs(found - SCALARIFY(expected)) <= most) then
      print *, what, n, nstart, found, expected, most
      error stop
    end if
  end subroutine compare
end program berkeleygw
