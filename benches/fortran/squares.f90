! As the paper goes on, v3: one real reciprocal for each division, squares for absolute values, zero
! first and then a two-way branch; energies outside the loop over ig, which gfortran then puts into
! vectors where it may reorder sums.
module loops
  use problem, only: dp, tol_zero
  implicit none
  private
  public :: place, calculate, release

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
    complex(dp) :: wtilde1, wtilde2, eps1, omega2, matngmatmgp, wdiff, delw, sch, ssx, cden
    complex(dp) :: asx1, ach1
    real(dp) :: w, wdiffr, rden, delwr
    integer :: n, igp, ig, iw

    asx = 0
    ach = 0
    !$omp parallel do schedule(dynamic) default(shared) reduction(+: asx, ach) &
    !$omp   private(n, ig, iw, wtilde1, wtilde2, eps1, omega2, matngmatmgp, wdiff, delw, sch, ssx) &
    !$omp   private(cden, asx1, ach1, w, wdiffr, rden, delwr)
    do igp = 1, ngpown
      do n = 1, nbands
        do iw = 1, nw
          w = wx(iw, n)
          asx1 = 0
          ach1 = 0
          do ig = 1, ncouls
            wtilde1 = wtilde(ig, igp)
            eps1 = eps(ig, igp)
            wtilde2 = wtilde1**2
            omega2 = wtilde2*eps1
            matngmatmgp = conjg(aqsm_local(igp, n))*aqsn(ig, n)
            wdiff = w - wtilde1
            wdiffr = square(wdiff)
            rden = 1/wdiffr
            delw = wtilde1*conjg(wdiff)*rden
            delwr = square(delw)
            sch = 0
            ssx = 0
            if (wdiffr > limittwo .and. delwr < limitone) then
              sch = delw*eps1
              cden = cmplx(real(wdiff)*(w + real(wtilde1)) + aimag(wtilde1)**2, &
                -aimag(wtilde2), dp)
              rden = 1/square(cden)
              ssx = omega2*conjg(cden)*rden
            else if (delwr > tol_zero) then
              cden = 2*wtilde1*(w + wtilde1)
              rden = 1/square(cden)
              ssx = -omega2*conjg(cden)*rden
            end if
            ! An infinite ssx may arrive as NaN and is cut off like every other that is too large.
            if (w < 0 .and. .not. square(ssx) <= sexcut**2*square(eps1)) ssx = 0
            asx1 = asx1 + ssx*matngmatmgp
            ach1 = ach1 + sch*matngmatmgp
          end do
          asx(iw) = asx(iw) - vcoul_loc(igp)*occ(n)*asx1
          ach(iw) = ach(iw) + vcoul_loc(igp)*0.5_dp*ach1
        end do
      end do
    end do
  end subroutine calculate

  pure real(dp) function square(z)
    complex(dp), intent(in) :: z
    square = real(z)**2 + aimag(z)**2
  end function square

  subroutine release()
  end subroutine release
end module loops
