! As in the paper, v0: complex numbers, divisions, absolute values, a three-way branch. The two
! denominators are those of the Rust kernels, which lose no digits near a pole.
module loops
  use problem, only: dp, tol_zero
  implicit none
  private
  public :: place, calculate

contains

  subroutine place(nbands, ngpown, ncouls, nw, wtilde, eps, aqsn, aqsm_local, wx)
    integer, intent(in) :: nbands, ngpown, ncouls, nw
    complex(dp), intent(in) :: wtilde(ncouls, ngpown), eps(ncouls, ngpown)
    complex(dp), intent(in) :: aqsn(ncouls, nbands), aqsm_local(ngpown, nbands)
    real(dp), intent(in) :: wx(nw, nbands)
    ! The arrays are used as they are.
  end subroutine place

  subroutine calculate(nbands, ngpown, ncouls, nw, limittwo, limitone, sexcut, wtilde, eps, aqsn, &
      aqsm_local, wx, vcoul_loc, occ, asx, ach)
    integer, intent(in) :: nbands, ngpown, ncouls, nw
    real(dp), intent(in) :: limittwo, limitone, sexcut
    complex(dp), intent(in) :: wtilde(ncouls, ngpown), eps(ncouls, ngpown)
    complex(dp), intent(in) :: aqsn(ncouls, nbands), aqsm_local(ngpown, nbands)
    real(dp), intent(in) :: wx(nw, nbands), vcoul_loc(ngpown), occ(nbands)
    complex(dp), intent(out) :: asx(nw), ach(nw)
    complex(dp) :: wtilde1, wtilde2, eps1, omega2, matngmatmgp, wdiff, delw, sch, ssx
    real(dp) :: w, wdiffr, delwr
    integer :: n, igp, ig, iw

    asx = 0
    ach = 0
    !$omp parallel do schedule(dynamic) default(shared) reduction(+: asx, ach) &
    !$omp   private(n, ig, iw, wtilde1, wtilde2, eps1, omega2, matngmatmgp, wdiff, delw, sch, ssx) &
    !$omp   private(w, wdiffr, delwr)
    do igp = 1, ngpown
      do n = 1, nbands
        do ig = 1, ncouls
          wtilde1 = wtilde(ig, igp)
          eps1 = eps(ig, igp)
          wtilde2 = wtilde1**2
          omega2 = wtilde2*eps1
          matngmatmgp = conjg(aqsm_local(igp, n))*aqsn(ig, n)
          do iw = 1, nw
            w = wx(iw, n)
            wdiff = w - wtilde1
            wdiffr = real(wdiff*conjg(wdiff))
            delw = wtilde1/wdiff
            delwr = real(delw*conjg(delw))
            if (wdiffr > limittwo .and. delwr < limitone) then
              sch = delw*eps1
              ssx = omega2/cmplx(real(wdiff)*(w + real(wtilde1)) + aimag(wtilde1)**2, &
                -aimag(wtilde2), dp)
            else if (delwr > tol_zero) then
              sch = 0
              ssx = -omega2/(2*wtilde1*(w + wtilde1))
            else
              sch = 0
              ssx = 0
            end if
            ! An infinite ssx may arrive as NaN and is cut off like every other that is too large.
            if (w < 0 .and. .not. abs(ssx) <= sexcut*abs(eps1)) ssx = 0
            asx(iw) = asx(iw) - vcoul_loc(igp)*occ(n)*ssx*matngmatmgp
            ach(iw) = ach(iw) + vcoul_loc(igp)*0.5_dp*sch*matngmatmgp
          end do
        end do
      end do
    end do
  end subroutine calculate
end module loops
