! As sigma.f90, on the ranks of MPI: each has a share of the columns igp, and the caller adds the sums.
!
!   mpif90 capi/fortran/gpp.f90 examples/fortran/miniapp.f90 examples/fortran/ranks.f90 -lgpp_c
program ranks
  use mpi
  use gpp, only: gpp_calculator, gpp_close, gpp_message, gpp_ok, gpp_open, gpp_sums
  use miniapp, only: dp, gamma, loop, make, nw, sexcut
  implicit none
  integer, parameter :: ngpown = 50
  complex(dp), allocatable :: wtilde_array(:, :), I_eps_array(:, :), aqsntemp(:, :), aqsmtemp(:, :)
  real(dp), allocatable :: vcoul(:), e(:), occ(:), omega(:)
  integer, allocatable :: inv_igp_index(:), indinv(:)
  complex(dp) :: asx(nw), ach(nw), asx_loop(nw), ach_loop(nw)
  real(dp) :: sizes(nw)
  type(gpp_calculator) :: calculator
  character(len=16) :: device
  integer :: status, error, rank, all_ranks, first, last

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, all_ranks, error)
  call get_command_argument(1, device)
  if (device == '') device = 'auto'
  call make(ngpown, wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, aqsmtemp, e, occ, omega)

  ! This rank's columns: contiguous, so nothing is copied.
  first = rank*ngpown/all_ranks + 1
  last = (rank + 1)*ngpown/all_ranks
  call gpp_open(calculator, device, status)
  if (status == gpp_ok) call gpp_sums(calculator, wtilde_array(:, first:last), I_eps_array(:, first:last), &
    vcoul, inv_igp_index(first:last), indinv, aqsntemp, aqsmtemp, e, occ, omega, asx, ach, status, gamma, &
    sexcut)
  if (status /= gpp_ok) then
    print '(a)', gpp_message()
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end if
  call gpp_close(calculator)
  call MPI_Allreduce(MPI_IN_PLACE, asx, nw, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, error)
  call MPI_Allreduce(MPI_IN_PLACE, ach, nw, MPI_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD, error)

  call loop(wtilde_array, I_eps_array, vcoul, inv_igp_index, indinv, aqsntemp, aqsmtemp, e, occ, omega, &
    asx_loop, ach_loop, sizes)
  if (.not. all(abs(asx - asx_loop) + abs(ach - ach_loop) <= 1e-13_dp*sizes)) then
    print '(a)', 'other sums'
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end if
  if (rank == 0) print '(a, i0, a)', 'gpp on ', all_ranks, ' ranks: as expected'
  call MPI_Finalize(error)
end program ranks
