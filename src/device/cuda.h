/* The driver API's names for types that device code may name; all else that CUDA declares here is the host's. */
#pragma once

typedef unsigned long long CUtexObject;
typedef unsigned long long CUsurfObject;
typedef unsigned long long CUdeviceptr;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
