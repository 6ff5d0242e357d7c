! What all loops that timing.f90 times have in common.
module problem
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: dp = real64
  ! Smallest |delw|**2 that the second branch takes.
  real(dp), parameter :: tol_zero = 1e-12_dp
end module problem
