#include "weft/serialization/gguf/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/core/parallel.h"
#include "weft/core/rounding.h"

namespace weft {
namespace {

// The exponents e of MXFP4 scales 2^(e - 128) that are f16 numbers; see widen.cc.
bool is_f16_exponent(std::uint8_t e) { return e >= 104 && e <= 143; }

/// Returns true if q8_0 represents the block: its scale is an f16 number, or all levels are 0.
bool is_q8_0(const std::uint8_t* mxfp4) {
  if (is_f16_exponent(mxfp4[0])) return true;
  return std::all_of(mxfp4 + 1, mxfp4 + 17, [](std::uint8_t pair) { return (pair & 0x77) == 0; });
}

QuantizedGroup read_mxfp4(const std::uint8_t* block) {
  constexpr std::int8_t kDoubles[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  QuantizedGroup group;
  if (is_f16_exponent(block[0])) group.scale = to_float16(std::ldexp(1.0f, block[0] - 128));
  for (std::size_t i = 0; i < 16; ++i) {
    group.levels[i] = kDoubles[block[1 + i] & 15];
    group.levels[i + 16] = kDoubles[block[1 + i] >> 4];
  }
  return group;
}

// The encodings of blocks of 32 with one scale, without their order in memory.
QuantizedGroup read_block(GgmlType type, const std::uint8_t* block) {
  if (type == GgmlType::mxfp4) return read_mxfp4(block);
  QuantizedGroup group;
  std::memcpy(&group.scale.bits, block, 2);
  if (type == GgmlType::q8_0) {
    std::memcpy(group.levels.data(), block + 2, kQuantizedGroup);
    return group;
  }
  std::uint32_t fifth_bits = 0;
  if (type == GgmlType::q5_0) std::memcpy(&fifth_bits, block + 2, 4);
  const std::uint8_t* low_bits = block + (type == GgmlType::q5_0 ? 6 : 2);
  for (std::size_t i = 0; i < 32; ++i) {
    const unsigned low = i < 16 ? low_bits[i] & 15u : low_bits[i - 16] >> 4u;
    const unsigned level = low | (fifth_bits >> i & 1) << 4;
    group.levels[i] =
        static_cast<std::int8_t>(static_cast<int>(level) - (type == GgmlType::q5_0 ? 16 : 8));
  }
  return group;
}

void write_block(GgmlType type, const QuantizedGroup& group, std::uint8_t* block) {
  std::memcpy(block, &group.scale.bits, 2);
  if (type == GgmlType::q8_0) {
    std::memcpy(block + 2, group.levels.data(), kQuantizedGroup);
    return;
  }
  const auto level = [&](std::size_t i) { return static_cast<unsigned>(group.levels[i] + 8); };
  for (std::size_t i = 0; i < 16; ++i)
    block[2 + i] = static_cast<std::uint8_t>(level(i) | level(i + 16) << 4);
}

std::string title(std::string_view name) { return fmt::format("tensor '{}'", excerpt(name)); }

/// Calls `body(stack, output)` for every output of every matrix of a stack.
template <class Body>
void for_outputs(std::int64_t stack, std::int64_t outputs, std::int64_t inputs, const Body& body) {
  Workers workers;
  const std::int64_t chunk_size = std::max<std::int64_t>(1, 65536 / (inputs + 1));
  workers.for_chunks(divide_up(stack * outputs, chunk_size), [&](std::int64_t chunk, int) {
    const std::int64_t end = std::min(stack * outputs, (chunk + 1) * chunk_size);
    for (std::int64_t row = chunk * chunk_size; row < end; ++row)
      body(row / outputs, row % outputs);
  });
}

/// Returns `sizes` after the first axes of `tensor`, which are before its last two.
Sizes stacked(const Sizes& tensor, const Sizes& sizes) {
  Sizes result(tensor.begin(), tensor.end() - 2);
  result.insert(result.end(), sizes.begin(), sizes.end());
  return result;
}

/// Returns the groups of matrix `index` of a stack.
QuantizedGroups groups_of(const QuantizedMatrix& m, QuantizedFormat format, std::int64_t stack,
                          std::int64_t inputs, std::int64_t index) {
  // The groups of const matrices are only read.
  auto* q = const_cast<std::byte*>(m.q.raw()) + index * (m.q.numel() / stack);
  auto* scale = reinterpret_cast<Float16*>(const_cast<std::byte*>(m.scale.raw())) +
                index * (m.scale.numel() / stack);
  return {format, inputs, q, scale};
}

void require_whole_blocks(std::string_view name, std::int64_t inputs, GgmlType type) {
  if (inputs % kQuantizedGroup == 0) return;
  throw ShapeError(
      fmt::format("{} has rows of {} elements, which are not a multiple of the 32 in a block of "
                  "{}: store it as F16 or F32",
                  title(name), inputs, ggml_type_name(type)));
}

/// Rounds to a type without blocks.
Tensor rounded(std::string_view name, const Tensor& tensor, GgmlType type) {
  const Tensor result = tensor.to(ggml_widened_dtype(type));
  if (type != GgmlType::f16 || tensor.dtype() == DType::f16) return result;
  const auto* halves = result.data<Float16>();
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    if ((halves[i].bits & 0x7FFF) == 0x7C00 && std::isfinite(tensor.at(i))) {
      throw DataError(
          fmt::format("{} contains {}: F16 can represent at most 65504: store it as BF16 "
                      "or F32",
                      title(name), tensor.at(i)));
    }
  }
  return result;
}

/// Returns a tensor of the dtype as bytes, without copying.
Tensor as_bytes(const Tensor& tensor) {
  return Tensor::view(DType::u8, {static_cast<std::int64_t>(tensor.bytes())}, tensor.buffer(),
                      tensor.byte_offset())
      .read_only();
}

}  // namespace

std::optional<QuantizedFormat> lossless_format(GgmlType type) {
  if (type == GgmlType::q4_0) return QuantizedFormat::int4;
  if (type == GgmlType::q8_0 || type == GgmlType::q5_0) return QuantizedFormat::q8_0;
  return std::nullopt;
}

std::optional<QuantizedFormat> lossless_format(const GgufTensor& tensor) {
  if (tensor.type != GgmlType::mxfp4) return lossless_format(tensor.type);
  const auto* block = tensor.data.data<std::uint8_t>();
  const std::int64_t bytes = ggml_block_bytes(tensor.type);
  for (std::int64_t at = 0; at < tensor.data.numel(); at += bytes) {
    if (!is_q8_0(block + at)) return std::nullopt;
  }
  return QuantizedFormat::q8_0;
}

QuantizedMatrix repacked(const GgufTensor& tensor) {
  const auto format = lossless_format(tensor);
  if (!format) {
    throw ArgumentError(
        fmt::format("{} is {}, which no format of quantised matrices represents: "
                    "use widened()",
                    title(tensor.name), ggml_type_name(tensor.type)));
  }
  if (tensor.sizes.size() < 2) {
    throw ShapeError(fmt::format("{} is {}{}, but only matrices can be repacked",
                                 title(tensor.name), ggml_type_name(tensor.type),
                                 to_string(tensor.sizes)));
  }
  const std::int64_t inputs = tensor.sizes.back(), outputs = tensor.sizes[tensor.sizes.size() - 2];
  QuantizedMatrix result{
      Tensor::zeros(quantized_dtype(*format),
                    stacked(tensor.sizes, quantized_sizes(*format, inputs, outputs))),
      Tensor::zeros(DType::f16,
                    stacked(tensor.sizes, quantized_scale_sizes(*format, inputs, outputs)))};
  const std::int64_t elements = num_elements(tensor.sizes);
  if (elements == 0) return result;
  const std::int64_t stack = elements / (inputs * outputs), blocks = inputs / kQuantizedGroup;
  const std::int64_t bytes = ggml_block_bytes(tensor.type);
  const auto* const from = tensor.data.data<std::uint8_t>();
  for_outputs(stack, outputs, inputs, [&](std::int64_t index, std::int64_t output) {
    const QuantizedGroups groups = groups_of(result, *format, stack, inputs, index);
    const auto* row = from + (index * outputs + output) * blocks * bytes;
    for (std::int64_t b = 0; b < blocks; ++b)
      groups.set(output, b, read_block(tensor.type, row + b * bytes));
  });
  return result;
}

GgufTensor encoded(std::string name, const QuantizedMatrix& matrix, std::int64_t inputs,
                   std::int64_t outputs) {
  const QuantizedFormat format = quantized_format(matrix.q.dtype(), matrix.scale.dtype());
  if (format == QuantizedFormat::int8) {
    throw ArgumentError(
        fmt::format("{} is int8 with one scale per output, which GGUF files cannot "
                    "represent: quantise the original weights to q8_0",
                    title(name)));
  }
  const GgmlType type = format == QuantizedFormat::int4 ? GgmlType::q4_0 : GgmlType::q8_0;
  require_whole_blocks(name, inputs, type);
  const auto axes = matrix.q.sizes().size();
  Sizes sizes(
      matrix.q.sizes().begin(),
      matrix.q.sizes().end() - std::min<std::ptrdiff_t>(4, static_cast<std::ptrdiff_t>(axes)));
  const std::int64_t stack = num_elements(sizes);
  sizes.insert(sizes.end(), {outputs, inputs});
  if (matrix.q.sizes() != stacked(sizes, quantized_sizes(format, inputs, outputs)) ||
      matrix.scale.sizes() != stacked(sizes, quantized_scale_sizes(format, inputs, outputs))) {
    throw ShapeError(fmt::format("{}: q {} and scale {} are no {} matrix [{}, {}]", title(name),
                                 matrix.q.type_str(), matrix.scale.type_str(),
                                 quantized_format_name(format), inputs, outputs));
  }
  const std::int64_t blocks = inputs / kQuantizedGroup, bytes = ggml_block_bytes(type);
  GgufTensor result{std::move(name), type, sizes,
                    Tensor::empty(DType::u8, {num_elements(sizes) / kQuantizedGroup * bytes})};
  auto* const to = result.data.mutable_data<std::uint8_t>();
  if (result.data.numel() == 0) return result;
  for_outputs(stack, outputs, inputs, [&](std::int64_t index, std::int64_t output) {
    const QuantizedGroups groups = groups_of(matrix, format, stack, inputs, index);
    auto* row = to + (index * outputs + output) * blocks * bytes;
    for (std::int64_t b = 0; b < blocks; ++b)
      write_block(type, groups.get(output, b), row + b * bytes);
  });
  return result;
}

GgufTensor encoded(std::string name, const Tensor& tensor, GgmlType type) {
  const DType from = tensor.dtype();
  if (from != DType::f32 && from != DType::f16 && from != DType::bf16) {
    throw DTypeError(
        fmt::format("{} is {}: only f32, f16 and bf16 tensors can be stored in GGUF "
                    "files",
                    title(name), tensor.type_str()));
  }
  if (type == GgmlType::f32 || type == GgmlType::f16 || type == GgmlType::bf16) {
    Tensor data = as_bytes(rounded(name, tensor, type));
    return {std::move(name), type, tensor.sizes(), std::move(data)};
  }
  if (type != GgmlType::q8_0 && type != GgmlType::q4_0) {
    throw ArgumentError(
        fmt::format("{} cannot be written as {} (possible: F32, F16, BF16, Q8_0, "
                    "Q4_0)",
                    title(name), ggml_type_name(type)));
  }
  if (tensor.rank() < 2) {
    throw ShapeError(fmt::format("{} is {}, but {} is for matrices: store it as F32", title(name),
                                 tensor.type_str(), ggml_type_name(type)));
  }
  const std::int64_t inputs = tensor.size(-1);
  require_whole_blocks(name, inputs, type);
  // A stack of matrices is quantised like one matrix with all their outputs.
  const std::int64_t outputs = inputs == 0 ? 0 : tensor.numel() / inputs;
  QuantizedMatrix matrix;
  try {
    matrix = quantize_matrix(tensor.to(DType::f32).reshape({outputs, inputs}),
                             *lossless_format(type), true);
  } catch (const DataError& e) {
    e.rethrow_as(fmt::format("{}: {}", title(name), e.what()));
  }
  GgufTensor result = encoded(std::move(name), matrix, inputs, outputs);
  result.sizes = tensor.sizes();
  return result;
}

}  // namespace weft
