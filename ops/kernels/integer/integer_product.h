// Products of rows of bytes with quantised weights, summed as integers.
//
// For every row r and output j, with levels l and weights w in [-128, 127]:
//   int8         y = (float(sum_i l[r][i] w[i][j]) * step[r]) * scale[j]
//                or, without scale, the sum itself as a 32-bit integer
//   q8_0, int4   y = (sum_g float(sum_{i in g} l[r][i] w[i][j]) * scale[g][j]) * step[r]
// For int8, w.start[j] is added to the sums first. The groups g are added in order, and each
// operation is rounded separately. Sums of integers are exact, so all units, SIMD targets,
// blockings and numbers of threads return the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/ops/kernels/quantized/quantized_weights.h"

namespace WEFT_API weft {
namespace kernels {

/// With more inputs, sums of products of two bytes (each of magnitude at most 128) can exceed 32
/// bits.
inline constexpr std::int64_t kMaxIntegerInputs = (std::int64_t{1} << 17) - 1;

/// The instructions that multiply bytes.
enum class IntegerUnit : std::uint8_t {
  madd,      // products of 16-bit pairs (PMADDWD, with the vectors of the SIMD target), or scalars
  vnni,      // VPDPBUSD on 512-bit vectors (AVX512_VNNI)
  avx_vnni,  // VPDPBUSD on 256-bit vectors (AVX-VNNI)
  amx_int8,  // TDPBSSD on AMX tiles, for 16 rows and more of int8; otherwise as vnni
  emulated_avx_vnni,  // the kernels with other instructions, for tests
  emulated_amx_int8,
};
/// Returns the name of a unit, such as "vnni".
std::string_view integer_unit_name(IntegerUnit unit);
/// Returns the units that this CPU can run, including emulations; faster units come later.
const std::vector<IntegerUnit>& integer_units();
/// Returns the fastest unit for the SIMD target in use.
IntegerUnit integer_unit();

/// The functions of one unit.
struct IntegerKernels {
  /// Returns the number of bytes of one prepared row, a multiple of 64.
  std::size_t (*row_bytes)(const QuantizedWeights& w);
  /// Converts dense rows of levels [rows, inputs] to the order of the weights.
  void (*prepare)(const QuantizedWeights& w, const std::int8_t* levels, std::int64_t rows,
                  std::byte* prepared);
  /// Computes the outputs of panels [begin, end) for prepared rows with these steps. y points to
  /// output 0 of the first row, and its rows are `stride` elements apart. Its elements are floats,
  /// or 32-bit integers if w is int8 and has no scale; then the steps are not read.
  void (*product)(const QuantizedWeights& w, const std::byte* prepared, const float* steps,
                  std::int64_t rows, std::int64_t begin, std::int64_t end, float* y,
                  std::int64_t stride);
  /// Runs independent chains of the unit's instruction and returns the number of products of two
  /// bytes.
  double (*run_chains)(std::int64_t rounds);
};
/// Requires that the CPU can run the unit.
const IntegerKernels& integer_kernels(IntegerUnit unit);

// Each function is in a separate file, so that it can be compiled for a specific CPU.
const IntegerKernels& madd_kernels();
const IntegerKernels& vnni_kernels();
const IntegerKernels& avx_vnni_kernels();
const IntegerKernels& amx_int8_kernels();
const IntegerKernels& emulated_avx_vnni_kernels();
const IntegerKernels& emulated_amx_int8_kernels();

}  // namespace kernels
}  // namespace weft
