// The matrix units: instructions that multiply bfloat16 terms, and emulations of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::kernels {

/// The unit that multiplies the tiles of two panels. The emulations reproduce every rounding of the
/// instructions on every CPU. They are for tests and many times slower than FMA.
enum class Bf16Unit : std::uint8_t {
  amx,           // TDPBF16PS on AMX tiles
  dot,           // VDPBF16PS of AVX512_BF16
  emulated_amx,  // the same kernel as `amx`, on tiles in memory
  emulated_dot,
};

/// Computes C = A B, or C += A B if `add`, for the tiles of two panels of `terms` terms: the sum of
/// the products of terms t, u with t + u < terms. C has 16 or 32 rows and columns (row_tiles,
/// column_tiles: 1 or 2). Sums start at zero and are added to C by an ordinary addition, which
/// preserves a denormal in C.
using PanelGemm = void (*)(const std::byte* a_tiles, const std::byte* b_tiles, std::int64_t slices,
                           std::int64_t row_tiles, std::int64_t column_tiles, float* c,
                           std::int64_t c_stride, bool add);

struct Bf16UnitKernels {
  /// Indexed by the number of terms minus one; null if not supported (`dot` supports one term
  /// only).
  PanelGemm panel_gemm[3] = {};
  /// Called before and after a run of products on one thread: tile configuration. May be null.
  void (*begin)() = nullptr;
  void (*end)() = nullptr;
};

const Bf16UnitKernels& bf16_unit_kernels(Bf16Unit unit);

// Each is in a separate file, so that it is compiled for its own CPU.
const Bf16UnitKernels& amx_kernels();
const Bf16UnitKernels& dot_kernels();
const Bf16UnitKernels& emulated_amx_kernels();
const Bf16UnitKernels& emulated_dot_kernels();

/// The matrix units of this CPU. The first call of bf16_cpu() requests AMX from the operating
/// system (Linux grants its registers to a process on request only).
struct Bf16Cpu {
  bool amx = false;       // AMX_TILE, AMX_BF16 and the permission to use them
  bool dot = false;       // AVX512_BF16
  bool fast_dot = false;  // and VDPBF16PS takes no longer than an FMA: AMD
};
const Bf16Cpu& bf16_cpu();

/// Returns true if this CPU can run the kernels of a unit.
bool bf16_unit_available(Bf16Unit unit);

/// Returns "amx", "dot", "emulated amx" or "emulated dot".
std::string_view bf16_unit_name(Bf16Unit unit);

}  // namespace weft::kernels
