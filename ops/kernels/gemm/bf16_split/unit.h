// Matrix units, which are instructions that multiply bfloat16 terms, and their emulations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::kernels {

/// The unit that multiplies the tiles of two panels. The emulations reproduce the rounding of the
/// instructions exactly on every CPU. They are intended for tests and are many times slower than
/// FMA.
enum class Bf16Unit : std::uint8_t {
  amx,           // TDPBF16PS on AMX tiles
  dot,           // VDPBF16PS of AVX512_BF16
  emulated_amx,  // the same kernel as for `amx`, but on tiles in memory
  emulated_dot,
};

/// Computes C = A B, or C += A B if `add`, for the tiles of two panels, as the sum of the products
/// of terms t of A and u of B with t + u < terms. B has `terms` terms or only one. C has 16 or 32
/// rows and columns (row_tiles and column_tiles are 1 or 2). Sums start at zero and are added to C
/// by an ordinary addition, which preserves denormals in C. `next` is the tiles of a panel of the
/// same size as A or B that is read soon; vector units prefetch it.
using PanelGemm = void (*)(const std::byte* a_tiles, const std::byte* b_tiles, std::int64_t slices,
                           std::int64_t row_tiles, std::int64_t column_tiles, float* c,
                           std::int64_t c_stride, bool add, const std::byte* next);

/// The number of columns of B that DotColumns multiplies.
inline constexpr std::int64_t kDotColumns = 8;

/// Computes the dot products of `rows` rows of A (1, 2, 4, 8 or 16) and kDotColumns columns of B,
/// which are contiguous and `b_stride` elements apart; columns after the first `columns` repeat the
/// last one. Row i of A and column j of B yield dots[i * kDotColumns + j]. Slices of 32 entries of
/// the rows follow one another in `a`, padded with zeros. Every element is one chain of
/// instructions along K, so its bits depend only on its row and its column. Entries of B are
/// prefetched `ahead` entries before they are read. Returns the smallest magnitude among the
/// non-zero entries of the columns, as in PanelRange.
using DotColumns = std::uint32_t (*)(const std::byte* a, std::int64_t rows, const std::byte* b,
                                     std::int64_t b_stride, std::int64_t columns,
                                     std::int64_t depth, std::int64_t ahead, float* dots);

/// Rounds a row of A for DotColumns. Slices are written `stride` bytes apart. Returns the extreme
/// magnitudes as in PanelRange.
using RoundRow = void (*)(const float* row, std::int64_t depth, std::byte* to, std::int64_t stride,
                          std::uint32_t* largest, std::uint32_t* smallest);

struct Bf16UnitKernels {
  /// The kernels, indexed by the number of terms minus one. Null if not supported (`dot` supports
  /// only one term).
  PanelGemm panel_gemm[3] = {};
  /// The kernels for one term of B, indexed by the number of terms of A minus one.
  PanelGemm single_term_b[3] = {};
  /// Called before and after a series of products on one thread, to set and release the tile
  /// configuration. May be null.
  void (*begin)() = nullptr;
  void (*end)() = nullptr;
  /// The kernels for few rows of A and columns of B that are not packed. Null on tile units.
  DotColumns dot_columns = nullptr;
  RoundRow round_row = nullptr;
};

const Bf16UnitKernels& bf16_unit_kernels(Bf16Unit unit);

// Each function is in a separate file, so that it can be compiled for a specific CPU.
const Bf16UnitKernels& amx_kernels();
const Bf16UnitKernels& dot_kernels();
const Bf16UnitKernels& emulated_amx_kernels();
const Bf16UnitKernels& emulated_dot_kernels();

/// The matrix units of this CPU.
struct Bf16Cpu {
  bool amx = false;       // AMX_TILE and AMX_BF16, with permission to use them
  bool dot = false;       // AVX512_BF16
  bool fast_dot = false;  // VDPBF16PS is available and takes no longer than an FMA, as on AMD CPUs
};
const Bf16Cpu& bf16_cpu();

/// Returns true if this CPU can run the kernels for a unit.
bool bf16_unit_available(Bf16Unit unit);

/// Returns "amx", "dot", "emulated amx" or "emulated dot".
std::string_view bf16_unit_name(Bf16Unit unit);

}  // namespace weft::kernels
