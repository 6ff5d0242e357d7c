//! What belongs to a context, and how a failure gets its operation.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use cust::context::{Context, CurrentContext};
use cust::error::CudaResult;

use super::library;
use crate::error::{DriverError, Error, Result};

/// Gives a failed call the operation that it was part of.
pub trait Operation<T> {
    /// The value, or an error of `operation`.
    ///
    /// # Errors
    /// [`Error::Driver`] with the code that the driver returned last on this thread.
    fn of(self, operation: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Operation<T> for CudaResult<T> {
    fn of(self, operation: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|_| Error::Driver {
            reason: DriverError::Refused(library::last_failure()),
            operation: operation(),
        })
    }
}

/// Something of the driver's and the context that it belongs to, which it keeps alive. The context is
/// made current on whichever thread uses or drops it, as the driver's functions act on the current
/// one. That takes some tens of nanoseconds.
pub struct Held<T> {
    thing: ManuallyDrop<T>,
    context: Arc<Context>,
}

impl<T> Held<T> {
    /// Makes something in `context`.
    pub fn new(context: &Arc<Context>, make: impl FnOnce() -> CudaResult<T>) -> CudaResult<Self> {
        CurrentContext::set_current(&**context)?;
        Ok(Held { thing: ManuallyDrop::new(make()?), context: context.clone() })
    }

    /// The thing, with its context current.
    pub fn get(&self) -> CudaResult<&T> {
        CurrentContext::set_current(&*self.context)?;
        Ok(&self.thing)
    }

    /// The thing, for what the driver has no part in.
    pub fn peek(&self) -> &T {
        &self.thing
    }

    /// The thing, for what the driver has no part in.
    pub fn peek_mut(&mut self) -> &mut T {
        &mut self.thing
    }

    /// What it belongs to.
    pub fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        // A failure here and below can no longer be told: the thing is then lost with its context.
        let _ = CurrentContext::set_current(&*self.context);
        // SAFETY: dropped here and nowhere else.
        unsafe { ManuallyDrop::drop(&mut self.thing) }
    }
}
