// How fast FP64 instructions go by the registers that they read; docs/versions.md has the result.
// nvcc -O3 -arch=sm_90 -o ports ports.cu && ./ports (an H200's 132 multiprocessors and 1.98 GHz are assumed)
#include <cstdio>
#include <cuda_runtime.h>
#define F(d,a,b,c) asm volatile("fma.rn.f64 %0,%1,%2,%3;" : "=d"(d) : "d"(a),"d"(b),"d"(c))
template<int MODE> __global__ void __launch_bounds__(256,2) k(const double* in, double* out, int n, double cc){
  double acc[16], a[8], b[8];
  #pragma unroll
  for(int i=0;i<8;i++){acc[i]=in[i];acc[i+8]=in[i]+1;a[i]=in[8+i+threadIdx.x%2];b[i]=in[16+i+threadIdx.x%2];}
  for(int it=0; it<n; ++it){
    #pragma unroll
    for(int r=0;r<4;r++){
      if(MODE==0){
      #pragma unroll
      for(int i=0;i<16;i++) F(acc[i],acc[i],acc[i],acc[i]); }
      if(MODE==1){
      #pragma unroll
      for(int i=0;i<16;i++) F(acc[i],acc[i],a[(i+r)&7],acc[i]); }
      if(MODE==2){
      #pragma unroll
      for(int i=0;i<16;i++) F(acc[i],a[i&7],a[i&7],acc[i]); }
      if(MODE==3){
      #pragma unroll
      for(int i=0;i<16;i++) F(acc[i],a[(i+r)&7],cc,acc[i]); }
      if(MODE==4){ // snake: m_re=a0,m_im=a1, 4 factors b0..3, then second m
      #pragma unroll
      for(int h=0;h<2;h++){
        #pragma unroll
        for(int f=0;f<4;f++){ int x=f&1; 
          F(acc[h*8+2*f+x],a[2*h+x],b[h*4+f],acc[h*8+2*f+x]); F(acc[h*8+2*f+1-x],a[2*h+1-x],b[h*4+f],acc[h*8+2*f+1-x]); } } }
      if(MODE==5){ // re,im order
      #pragma unroll
      for(int h=0;h<2;h++){
        #pragma unroll
        for(int f=0;f<4;f++){ 
          F(acc[h*8+2*f],a[2*h],b[h*4+f],acc[h*8+2*f]); F(acc[h*8+2*f+1],a[2*h+1],b[h*4+f],acc[h*8+2*f+1]); } } }
      if(MODE==6){ // all re then all im
      #pragma unroll
      for(int h=0;h<2;h++){
        #pragma unroll
        for(int x=0;x<2;x++)
        #pragma unroll
        for(int f=0;f<4;f++) F(acc[h*8+2*f+x],a[2*h+x],b[h*4+f],acc[h*8+2*f+x]); } }
      if(MODE==7){
      #pragma unroll
      for(int i=0;i<16;i++) asm volatile("add.rn.f64 %0,%1,%2;" : "=d"(acc[i]) : "d"(acc[i]),"d"(a[(i+r)&7])); }
      if(MODE==8){ // c-slot shared
      #pragma unroll
      for(int i=0;i<16;i++) F(acc[i],acc[i],a[(i+r)&7],b[0]); }
    }
  }
  double t=0; for(int i=0;i<16;i++) t+=acc[i];
  if(t==1.2345) out[0]=t;
}
template<int M> void run(const double*in,double*out,const char*name){
  cudaEvent_t e0,e1; cudaEventCreate(&e0);cudaEventCreate(&e1);
  int n=2000; k<M><<<132*2,256>>>(in,out,n,0.5); float best=1e9;
  for(int i=0;i<4;i++){cudaEventRecord(e0);k<M><<<132*2,256>>>(in,out,n,0.5);cudaEventRecord(e1);cudaEventSynchronize(e1);float ms;cudaEventElapsedTime(&ms,e0,e1);if(ms<best)best=ms;}
  double inst=132.0*2*8*n*64.0; double cyc=best*1e-3*1.98e9; printf("%s: %.3f ms, FP64 pipe %.1f %%, cycles/inst %.2f\n",name,best,100*inst*2/(cyc*132*4), cyc*132*4/inst);
}
int main(){ double*in,*out; cudaMalloc(&in,8*64);cudaMalloc(&out,8); double h[64]; for(int i=0;i<64;i++)h[i]=1e-3*i; cudaMemcpy(in,h,512,cudaMemcpyHostToDevice);
 run<0>(in,out,"e*e+e"); run<1>(in,out,"r*t+r"); run<2>(in,out,"d*d+acc"); run<3>(in,out,"a*const+acc"); run<4>(in,out,"snake"); run<5>(in,out,"re,im"); run<6>(in,out,"all re, all im"); run<7>(in,out,"add"); run<8>(in,out,"acc*a+shared"); }
