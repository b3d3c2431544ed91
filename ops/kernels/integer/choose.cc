// Selection of the unit for products of bytes.
#include "weft/ops/kernels/cpu_features.h"
#include "weft/ops/kernels/integer/integer_product.h"

namespace weft::kernels {
namespace {

std::vector<IntegerUnit> detect() {
  const CpuFeatures& cpu = cpu_features();
  std::vector<IntegerUnit> units = {IntegerUnit::madd};
  if (cpu.avx2) {
    units.push_back(IntegerUnit::emulated_avx_vnni);
    units.push_back(IntegerUnit::emulated_amx_int8);
  }
  if (cpu.avx_vnni) units.push_back(IntegerUnit::avx_vnni);
  if (cpu.avx512_vnni) units.push_back(IntegerUnit::vnni);
  if (cpu.avx512_vnni && cpu.amx_int8) units.push_back(IntegerUnit::amx_int8);
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
