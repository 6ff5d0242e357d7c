/* The build scripts of cust look for this file to tell a CUDA toolkit. There is nothing to include:
   cust declares the driver's functions itself, and core/src/devices/gpu/driver/library.rs defines those
   that it calls. So ../lib64/libcuda.a is an empty archive. */
