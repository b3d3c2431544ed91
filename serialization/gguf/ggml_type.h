// Encodings of tensors in GGUF files: ggml's types.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/core/dtype.h"

namespace WEFT_API weft {

/// The encodings that Weft reads. The numbers are part of the format (enum ggml_type). A row of a
/// quantised tensor consists of blocks of 32 or 256 consecutive elements with common scales.
enum class GgmlType : std::uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  bf16 = 30,
  mxfp4 = 39,
};

/// Returns ggml's name: "F32", "Q4_K", "MXFP4".
std::string_view ggml_type_name(GgmlType type);
/// The inverse of ggml_type_name(); case is ignored. Throws ArgumentError, listing the valid names,
/// for an unknown name.
GgmlType parse_ggml_type(std::string_view name);
/// Returns the name of the encoding with this number, also if Weft does not read it ("IQ4_XS"), or
/// the number itself ("99") if it is unknown.
std::string ggml_type_name(std::uint32_t number);
/// Returns true if Weft reads the encoding with this number.
bool is_readable_ggml_type(std::uint32_t number);
/// Returns the names of all encodings that Weft reads, for messages: "F32, F16, ...".
std::string readable_ggml_types();

/// Return the number of elements and of bytes in a block. A block of F32, F16 or BF16 is one
/// element.
std::int64_t ggml_block_elements(GgmlType type);
std::int64_t ggml_block_bytes(GgmlType type);
/// Returns the smallest dtype that represents all values of an encoding: f32, f16 and bf16 for
/// themselves, bf16 for MXFP4 and f32 for all others.
DType ggml_widened_dtype(GgmlType type);

}  // namespace weft
