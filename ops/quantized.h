// Quantised weight matrices: how they lie in memory, and their conversion.
//
// A matrix is W [inputs, outputs] of y = x W; the sum runs over inputs. Outputs are cut into panels
// of 16 (the last one padded with zeros), and a panel is one run of memory in the order in which a
// product with one row reads it, 16 outputs at a time:
//
//   int8  q      i8 [panels, ceil(inputs / 4), 16, 4]
//                                                four consecutive inputs of every channel:
//                                                W[4 b + t][16 p + l] = q[p][b][l][t] * scale[p][l]
//         scale  f32 [panels, 16]                one per output channel
//   int4  q      u8 [panels, 4 groups, 16, 4]    the four bytes of (p, b, l) hold eight consecutive
//                                                inputs of channel 16 p + l: input 8 b + 2 t is the
//                                                low half of byte t, 8 b + 2 t + 1 the high half,
//                                                each a signed number from -8 to 7
//         scale  f16 [panels, groups, 16]        one per channel and group of 32 inputs
//
// groups = ceil(inputs / 32); what is behind the last input is 0. So a 32-bit lane holds
// four or eight weights of its own channel, as instructions for dot products of bytes want them,
// and one vector holds the scales that belong to it. These are the formats of ggml's Q8 and Q4_0
// (symmetric, groups of 32) but for the order in memory and int8's scale per channel. The dtype of
// q says which of the two it is.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

enum class QuantizedFormat { int8, int4 };
/// "int8", "int4".
std::string_view quantized_format_name(QuantizedFormat format);

inline constexpr std::int64_t kQuantizedPanel = 16;
inline constexpr std::int64_t kQuantizedGroup = 32;

/// Sizes of q and scale for W [inputs, outputs].
Sizes quantized_sizes(QuantizedFormat format, std::int64_t inputs, std::int64_t outputs);
Sizes quantized_scale_sizes(QuantizedFormat format, std::int64_t inputs, std::int64_t outputs);
/// f32 for int8, f16 for int4.
DType quantized_scale_dtype(QuantizedFormat format);
/// i8 for int8, u8 for int4.
DType quantized_dtype(QuantizedFormat format);

struct QuantizedMatrix {
  Tensor q, scale;
};

/// Rounds an f32 matrix, [inputs, outputs] or, `transposed`, [outputs, inputs].
///   int8: scale = max |w| / 127 of the channel; q = w / scale to nearest, ties to even.
///   int4: of some scales near max |w| / 8, either sign, the one with the least squared error; the
///         extreme weight is then near -8 or 7 steps.
/// A pure function of the tensor. Throws DataError for a weight that is not finite (index and
/// value), DTypeError and ShapeError where it is no f32 matrix.
QuantizedMatrix quantize_matrix(const Tensor& matrix, QuantizedFormat format, bool transposed);

}  // namespace weft
