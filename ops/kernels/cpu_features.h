// The instructions that kernels use in addition to the SIMD targets of Highway.
#pragma once

namespace weft::kernels {

/// The features of this CPU that the operating system supports. All are false on CPUs other than
/// x86-64.
struct CpuFeatures {
  bool amd = false;          // the vendor
  bool avx2 = false;         // with FMA and F16C
  bool avx_vnni = false;     // VPDPBUSD on 256-bit vectors
  bool avx512 = false;       // F, BW and VL
  bool avx512_vnni = false;  // VPDPBUSD on 512-bit vectors
  bool avx512_bf16 = false;  // VDPBF16PS
  bool amx_bf16 = false;     // TDPBF16PS, with permission to use tiles
  bool amx_int8 = false;     // TDPBSSD, with permission to use tiles
};

/// Returns the features of this CPU. The first call requests AMX from the operating system, because
/// Linux allows a process to use the AMX registers only on request.
const CpuFeatures& cpu_features();

}  // namespace weft::kernels
