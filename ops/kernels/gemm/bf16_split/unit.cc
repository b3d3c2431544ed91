#include "weft/ops/kernels/gemm/bf16_split/unit.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <string.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace weft::kernels {
namespace {

#if defined(__x86_64__)

constexpr std::uint32_t bit(int n) { return std::uint32_t{1} << n; }

// The register states that the operating system saves (XCR0).
std::uint64_t enabled_states() {
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

Bf16Cpu detect() {
  Bf16Cpu cpu;
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  char vendor[13] = {};
  std::uint32_t highest = 0;
  __get_cpuid(0, &highest, &ebx, &ecx, &edx);
  memcpy(vendor, &ebx, 4);
  memcpy(vendor + 4, &edx, 4);
  memcpy(vendor + 8, &ecx, 4);
  const bool amd = strcmp(vendor, "AuthenticAMD") == 0;
  if (highest < 7) return cpu;
  __cpuid(1, eax, ebx, ecx, edx);
  if ((ecx & bit(27)) == 0) return cpu;  // OSXSAVE: xgetbv exists
  const std::uint64_t states = enabled_states();
  constexpr std::uint64_t kAvx512States = 0xE6, kTileStates = 0x60000;
  __cpuid_count(7, 0, eax, ebx, ecx, edx);
  const std::uint32_t subleaves = eax, leaf7_edx = edx;
  const bool avx512 = (states & kAvx512States) == kAvx512States && (ebx & bit(16)) != 0 &&
                      (ebx & bit(30)) != 0 && (ebx & bit(31)) != 0;  // F, BW, VL
  if (!avx512) return cpu;
  if (subleaves >= 1) {
    __cpuid_count(7, 1, eax, ebx, ecx, edx);
    cpu.dot = (eax & bit(5)) != 0;
    cpu.fast_dot = cpu.dot && amd;
  }
  const bool amx_bf16 = (leaf7_edx & bit(22)) != 0, amx_tile = (leaf7_edx & bit(24)) != 0;
  cpu.amx =
      amx_bf16 && amx_tile && (states & kTileStates) == kTileStates && permitted_to_use_tiles();
  return cpu;
}

#else

Bf16Cpu detect() { return {}; }

#endif

}  // namespace

const Bf16Cpu& bf16_cpu() {
  static const Bf16Cpu cpu = detect();
  return cpu;
}

bool bf16_unit_available(Bf16Unit unit) {
  switch (unit) {
    case Bf16Unit::amx: return bf16_cpu().amx;
    case Bf16Unit::dot: return bf16_cpu().dot;
    case Bf16Unit::emulated_amx:
    case Bf16Unit::emulated_dot: break;
  }
  return true;
}

std::string_view bf16_unit_name(Bf16Unit unit) {
  switch (unit) {
    case Bf16Unit::amx: return "amx";
    case Bf16Unit::dot: return "dot";
    case Bf16Unit::emulated_amx: return "emulated amx";
    case Bf16Unit::emulated_dot: break;
  }
  return "emulated dot";
}

const Bf16UnitKernels& bf16_unit_kernels(Bf16Unit unit) {
  switch (unit) {
    case Bf16Unit::amx: return amx_kernels();
    case Bf16Unit::dot: return dot_kernels();
    case Bf16Unit::emulated_amx: return emulated_amx_kernels();
    case Bf16Unit::emulated_dot: break;
  }
  return emulated_dot_kernels();
}

}  // namespace weft::kernels
