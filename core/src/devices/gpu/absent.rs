//! The driver of a build without the feature `gpu`: there is none, so nothing of its is ever made.
#![allow(missing_docs, clippy::missing_errors_doc, reason = "as in driver/")]
#![allow(clippy::missing_safety_doc, clippy::len_without_is_empty, reason = "as in driver/")]

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use crate::error::{Error, Result};

fn none<T>() -> Result<T> {
    Err(Error::NoGpu { why: "this is a build without the feature `gpu`".into() })
}

pub fn devices() -> Result<usize> {
    none()
}

pub fn driver_version() -> Result<String> {
    none()
}

pub fn is_there() -> bool {
    false
}

pub fn is_on_device(_: u64) -> bool {
    false
}

pub fn require_on(_: usize, _: &str, _: u64, _: u64) -> Result<()> {
    none()
}

pub unsafe fn fetched<T>(
    _: &'static str,
    _: u64,
    _: usize,
    _: [usize; 2],
    _: &Stream,
) -> Result<Vec<T>> {
    none()
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForeignStream(());

impl ForeignStream {
    pub unsafe fn new(_: *mut c_void) -> ForeignStream {
        ForeignStream(())
    }
}

#[must_use]
pub struct Visit(());

impl Visit {
    pub fn begin() -> Visit {
        Visit(())
    }
}

pub enum DeviceAttribute {
    ClockRate,
    ComputeCapabilityMajor,
    ComputeCapabilityMinor,
    GlobalMemoryBusWidth,
    L2CacheSize,
    MemoryClockRate,
    MultiprocessorCount,
}

pub enum FunctionAttribute {
    LocalSizeBytes,
    NumRegisters,
    SharedMemorySizeBytes,
}

#[derive(Clone, Copy)]
enum Never {}

#[derive(Clone)]
pub struct Context(Never);
pub struct Stream(Never);
pub struct Event(Never);
pub struct Module(Never);
pub struct Function<'m>(Never, PhantomData<&'m Module>);
pub struct Buffer<T>(Never, PhantomData<T>);
pub struct Pinned<T>(Never, PhantomData<T>);
pub struct Transfer<T>(Never, PhantomData<T>);
pub struct Registered<M>(Never, PhantomData<M>);

/// Methods of what is never made, by the types of their arguments.
macro_rules! never {
    ($($name:ident$(<$of:ident>)?($($kind:ty),*) -> $to:ty;)*) => {
        $(pub fn $name$(<$of>)?(&self, $(_: $kind),*) -> $to {
            match self.0 {}
        })*
    };
}

impl Context {
    never! {
        limited(u64) -> Context;
        name() -> Result<String>;
        uuid() -> Result<String>;
        attribute(DeviceAttribute) -> Result<u32>;
        memory() -> Result<(u64, u64)>;
        stream(&'static str) -> Result<Stream>;
        event() -> Result<Event>;
        buffer<T>(&'static str, usize) -> Result<Buffer<T>>;
        upload<T>(&'static str, &[T], &Stream) -> Result<Buffer<T>>;
        pinned<T>(&'static str, usize) -> Result<Pinned<T>>;
        register<M>(M) -> Result<Registered<M>>;
        module(&str) -> Result<Module>;
    }

    pub fn open(_: usize) -> Result<Context> {
        none()
    }

    pub unsafe fn image(&self, _: &[u8]) -> Result<Module> {
        match self.0 {}
    }
}

impl Stream {
    never! {
        synchronize() -> Result<()>;
        wait_for(&Stream) -> Result<()>;
        wait_for_foreign(ForeignStream) -> Result<()>;
    }
}

impl Event {
    never! {
        record(&Stream) -> Result<()>;
        seconds_since(&Event, &str) -> Result<f64>;
        elapsed_since(&Event, &str) -> Result<f64>;
    }
}

impl Module {
    never! {
        function(&str) -> Result<Function<'_>>;
    }
}

impl Function<'_> {
    never! {
        attribute(FunctionAttribute) -> Result<u32>;
        blocks_per_multiprocessor(u32) -> Result<u32>;
        set<T>(&str, &[T], &Stream) -> Result<()>;
        allow_shared(u32) -> Result<()>;
    }

    pub unsafe fn launch(&self, _: &Stream, _: u32, _: u32, _: &[*const c_void]) -> Result<()> {
        match self.0 {}
    }

    pub unsafe fn launch_sharing(
        &self,
        _: &Stream,
        _: u32,
        _: u32,
        _: u32,
        _: &[*const c_void],
    ) -> Result<()> {
        match self.0 {}
    }
}

impl<T> Buffer<T> {
    never! {
        pointer() -> *mut T;
        len() -> usize;
        bytes() -> usize;
        poison(usize, &Stream) -> Result<()>;
        clear(&Stream) -> Result<()>;
        upload(&[T], &Stream) -> Result<()>;
        upload_registered(&[T], &Stream) -> Result<bool>;
        download(usize, &Stream) -> Result<Vec<T>>;
    }
}

impl<T> Pinned<T> {
    never! {
        upload(usize, &Buffer<T>, &Stream) -> Result<Transfer<T>>;
        upload_part<U>(usize, &Buffer<U>, usize, &Stream) -> Result<Transfer<T>>;
        download(usize, &Buffer<T>, &Stream) -> Result<Transfer<T>>;
    }
}

impl<T> Deref for Pinned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self.0 {}
    }
}

impl<T> DerefMut for Pinned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self.0 {}
    }
}

impl<T> Transfer<T> {
    never! {
        wait() -> Result<Pinned<T>>;
        wait_for(&str) -> Result<Pinned<T>>;
    }
}
