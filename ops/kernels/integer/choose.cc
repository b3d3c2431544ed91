// Detection and selection of the unit for products of bytes.
#include "weft/ops/kernels/gemm/bf16_split/unit.h"
#include "weft/ops/kernels/integer/integer_product.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdint.h>
#endif

namespace weft::kernels {
namespace {

#if defined(__x86_64__)
bool has_avx2() { return __builtin_cpu_supports("avx2"); }  // all CPUs with AVX2 have F16C
bool has_avx_vnni() {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!has_avx2() || __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (eax >> 4 & 1) != 0;
}
bool has_avx512_vnni() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
}
// bf16_cpu() requests AMX from the operating system.
bool has_amx_int8() {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!bf16_cpu().amx || __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (edx >> 25 & 1) != 0;
}
#else
bool has_amx_int8() { return false; }
bool has_avx2() { return false; }
bool has_avx_vnni() { return false; }
bool has_avx512_vnni() { return false; }
#endif

std::vector<IntegerUnit> detect() {
  std::vector<IntegerUnit> units = {IntegerUnit::madd};
  if (has_avx2()) {
    units.push_back(IntegerUnit::emulated_avx_vnni);
    units.push_back(IntegerUnit::emulated_amx_int8);
  }
  if (has_avx_vnni()) units.push_back(IntegerUnit::avx_vnni);
  if (has_avx512_vnni()) units.push_back(IntegerUnit::vnni);
  if (has_avx512_vnni() && has_amx_int8()) units.push_back(IntegerUnit::amx_int8);
  return units;
}

}  // namespace

std::string_view integer_unit_name(IntegerUnit unit) {
  switch (unit) {
    case IntegerUnit::vnni: return "vnni";
    case IntegerUnit::avx_vnni: return "avx_vnni";
    case IntegerUnit::amx_int8: return "amx_int8";
    case IntegerUnit::emulated_amx_int8: return "emulated_amx_int8";
    case IntegerUnit::emulated_avx_vnni: return "emulated_avx_vnni";
    case IntegerUnit::madd: break;
  }
  return "madd";
}

const std::vector<IntegerUnit>& integer_units() {
  static const std::vector<IntegerUnit> units = detect();
  return units;
}

const IntegerKernels& integer_kernels(IntegerUnit unit) {
  switch (unit) {
    case IntegerUnit::vnni: return vnni_kernels();
    case IntegerUnit::avx_vnni: return avx_vnni_kernels();
    case IntegerUnit::amx_int8: return amx_int8_kernels();
    case IntegerUnit::emulated_amx_int8: return emulated_amx_int8_kernels();
    case IntegerUnit::emulated_avx_vnni: return emulated_avx_vnni_kernels();
    case IntegerUnit::madd: break;
  }
  return madd_kernels();
}

}  // namespace weft::kernels
