#include "weft/ops/kernels/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <string.h>

#include <cstdint>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace weft::kernels {
namespace {

#if defined(__x86_64__)

bool has_bit(std::uint32_t word, int n) { return (word >> n & 1) != 0; }

struct Registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};
// Returns zeros if the CPU does not have this leaf.
Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf = 0) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

bool is_amd() {
  const Registers r = cpuid(0);
  return memcmp(&r.ebx, "Auth", 4) == 0 && memcmp(&r.edx, "enti", 4) == 0 &&
         memcmp(&r.ecx, "cAMD", 4) == 0;
}

// Returns the register states that the operating system saves (XCR0), or 0 before AVX.
std::uint64_t enabled_states() {
  if (!has_bit(cpuid(1).ecx, 27)) return 0;  // OSXSAVE: xgetbv exists
  std::uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

bool permitted_to_use_tiles() {
#if defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

CpuFeatures detect() {
  constexpr std::uint64_t kAvxStates = 0x6, kAvx512States = 0xE6, kTileStates = 0x60000;
  const std::uint64_t states = enabled_states();
  const auto enabled = [&](std::uint64_t needed) { return (states & needed) == needed; };
  const Registers leaf1 = cpuid(1), leaf7 = cpuid(7);
  const Registers more = leaf7.eax >= 1 ? cpuid(7, 1) : Registers{};

  CpuFeatures f;
  f.amd = is_amd();
  f.avx2 = enabled(kAvxStates) && has_bit(leaf7.ebx, 5) && has_bit(leaf1.ecx, 12) &&
           has_bit(leaf1.ecx, 29);
  f.avx_vnni = f.avx2 && has_bit(more.eax, 4);
  f.avx512 = f.avx2 && enabled(kAvx512States) && has_bit(leaf7.ebx, 16) && has_bit(leaf7.ebx, 30) &&
             has_bit(leaf7.ebx, 31);
  f.avx512_vnni = f.avx512 && has_bit(leaf7.ecx, 11);
  f.avx512_bf16 = f.avx512 && has_bit(more.eax, 5);
  const bool tiles = f.avx512 && enabled(kTileStates) && has_bit(leaf7.edx, 24);
  if (tiles && permitted_to_use_tiles()) {
    f.amx_bf16 = has_bit(leaf7.edx, 22);
    f.amx_int8 = has_bit(leaf7.edx, 25);
  }
  return f;
}

#else

CpuFeatures detect() { return {}; }

#endif

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

}  // namespace weft::kernels
