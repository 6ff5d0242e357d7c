program caller
  use gpp
  type(gpp_calculator) :: calculator
  integer :: status
  call gpp_open(calculator, 'cpu', status)
  if (status /= gpp_ok) error stop
end program
