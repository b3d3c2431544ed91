#include "weft/ops/kernels/gemm/bf16_split/unit.h"

#include "weft/ops/kernels/cpu_features.h"

namespace weft::kernels {

const Bf16Cpu& bf16_cpu() {
  static const Bf16Cpu cpu = {.amx = cpu_features().amx_bf16,
                              .dot = cpu_features().avx512_bf16,
                              .fast_dot = cpu_features().avx512_bf16 && cpu_features().amd};
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
