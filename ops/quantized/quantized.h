// Quantised weight matrices: their memory layout and conversion.
//
// A quantised matrix is the matrix W [inputs, outputs] in y = x W, in which the sum runs over the
// inputs. Outputs are divided into panels of 16; the last panel is padded with zeros. A panel is
// contiguous in memory, in the order in which it is read by a product with one row, 16 outputs at a
// time:
//
//   int8  q      i8 [panels, ceil(inputs / 4), 16, 4]
//                four consecutive inputs of every channel:
//                W[4 b + t][16 p + l] = q[p][b][l][t] * scale[p][l]
//         scale  f32 [panels, 16]
//                one per output channel
//   q8_0  q      i8, as for int8
//         scale  f16 [panels, groups, 16]
//                one per channel and group of 32 inputs
//   int4  q      u8 [panels, 4 groups, 16, 4]
//                The four bytes of (p, b, l) hold eight consecutive inputs of channel 16 p + l:
//                input 8 b + 2 t is the low half of byte t, 8 b + 2 t + 1 the high half, each a
//                signed number from -8 to 7.
//         scale  f16 [panels, groups, 16]
//                one per channel and group of 32 inputs
//
// Here groups = ceil(inputs / 32), and elements after the last input are 0. A 32-bit lane thus
// holds four or eight weights of one channel, as required by byte dot-product instructions, and one
// vector holds the corresponding scales. q8_0 and int4 hold the numbers of ggml's Q8_0 and Q4_0 in
// another order. The dtypes of q and scale distinguish the formats.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

enum class QuantizedFormat { int8, int4, q8_0 };
/// Returns "int8", "int4" or "q8_0".
std::string_view quantized_format_name(QuantizedFormat format);

inline constexpr std::int64_t kQuantizedPanel = 16;
inline constexpr std::int64_t kQuantizedGroup = 32;

/// Return the sizes of q and scale, respectively, for W [inputs, outputs].
Sizes quantized_sizes(QuantizedFormat format, std::int64_t inputs, std::int64_t outputs);
Sizes quantized_scale_sizes(QuantizedFormat format, std::int64_t inputs, std::int64_t outputs);
/// Returns the dtype of the scales: f32 for int8, f16 for int4 and q8_0.
DType quantized_scale_dtype(QuantizedFormat format);
/// Returns the dtype of q: i8 for int8 and q8_0, u8 for int4.
DType quantized_dtype(QuantizedFormat format);
/// The inverse of the functions above, for q of dtype i8 or u8.
QuantizedFormat quantized_format(DType q, DType scale);

struct QuantizedMatrix {
  Tensor q, scale;
};

/// Quantises an f32 matrix [inputs, outputs], or [outputs, inputs] if `transposed`.
///   int8: scale = max |w| / 127 for each channel; q = w / scale, rounded to nearest, ties to even.
///   q8_0: scale = max |w| / 127 for each group, rounded to f16; q = w / scale, rounded to nearest,
///   ties to even.
///   int4: among several scales near max |w| / 8, of either sign, the one with the least squared
///         error; the extreme weight is then close to level -8 or 7.
/// The result is deterministic and depends only on the tensor. Throws DataError, with the index and
/// the value of the weight, if a weight is not finite, and DTypeError or ShapeError if the tensor
/// is not an f32 matrix.
QuantizedMatrix quantize_matrix(const Tensor& matrix, QuantizedFormat format, bool transposed);

/// A group of an int4 or q8_0 matrix: the levels of 32 inputs of one output, and their scale.
/// Levels after the last input are 0.
struct QuantizedGroup {
  std::array<std::int8_t, kQuantizedGroup> levels = {};
  Float16 scale;
};

/// The groups of an int4 or q8_0 matrix W [inputs, outputs] in memory.
class QuantizedGroups {
 public:
  /// q and scale have quantized_sizes() and quantized_scale_sizes().
  QuantizedGroups(QuantizedFormat format, std::int64_t inputs, void* q, Float16* scale);

  QuantizedGroup get(std::int64_t output, std::int64_t group) const;
  /// Groups of different outputs may be set concurrently.
  void set(std::int64_t output, std::int64_t group, const QuantizedGroup& values) const;

 private:
  std::uint8_t* word_at(std::int64_t output, std::int64_t group) const;
  std::int64_t word_count(std::int64_t group) const;
  Float16& scale_at(std::int64_t output, std::int64_t group) const;

  bool int4_;
  std::int64_t groups_, words_;  // per channel
  std::int64_t group_words_;     // per group
  std::uint8_t* q_;
  Float16* scale_;
};

}  // namespace weft
