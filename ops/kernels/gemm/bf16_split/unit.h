// The matrix units: instructions that multiply bfloat16 terms, and their emulations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::kernels {

/// A way of multiplying the tiles of two panels. The emulations compute what the instructions do,
/// rounding by rounding, on every CPU: they are for tests, many times slower than FMA.
enum class Bf16Unit : std::uint8_t {
  amx,           // TDPBF16PS on AMX tiles
  dot,           // VDPBF16PS of AVX512_BF16
  emulated_amx,  // the same kernel as `amx`, on tiles in memory
  emulated_dot,
};

/// C = A B, or C += A B where `add`, for the tiles of two panels of `terms` terms: the products of
/// terms t, u with t + u < terms. C has 16 or 32 rows and columns (row_tiles, column_tiles: 1 or
/// 2). Sums start at zero and are added to C by an ordinary addition, which keeps a denormal in C.
using PanelGemm = void (*)(const std::byte* a_tiles, const std::byte* b_tiles, std::int64_t slices,
                           std::int64_t row_tiles, std::int64_t column_tiles, float* c,
                           std::int64_t c_stride, bool add);

struct Bf16UnitKernels {
  /// By number of terms less one; null where there is none (`dot` knows one term only).
  PanelGemm panel_gemm[3] = {};
  /// Called before and after a run of products on one thread: tile configuration. May be null.
  void (*begin)() = nullptr;
  void (*end)() = nullptr;
};

const Bf16UnitKernels& bf16_unit_kernels(Bf16Unit unit);

// One per file, so that each is compiled for its own CPU.
const Bf16UnitKernels& amx_kernels();
const Bf16UnitKernels& dot_kernels();
const Bf16UnitKernels& emulated_amx_kernels();
const Bf16UnitKernels& emulated_dot_kernels();

/// What this CPU has. Asks the operating system for AMX at the first call (Linux grants its
/// registers to a process on request only).
struct Bf16Cpu {
  bool amx = false;       // AMX_TILE, AMX_BF16 and the permission to use them
  bool dot = false;       // AVX512_BF16
  bool fast_dot = false;  // and a VDPBF16PS takes no longer than an FMA: AMD
};
const Bf16Cpu& bf16_cpu();

/// Whether the kernels of a unit can run here.
bool bf16_unit_available(Bf16Unit unit);

/// "amx", "dot", "emulated amx", "emulated dot".
std::string_view bf16_unit_name(Bf16Unit unit);

}  // namespace weft::kernels
