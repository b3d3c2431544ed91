#include "weft/ops/quantized/quantized_operands.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/core/rounding.h"

namespace weft {
namespace {

constexpr std::size_t kMatrixAxes = 4;  // of q

void check_matrix_sizes(std::int64_t inputs, std::int64_t outputs) {
  constexpr std::int64_t kMax = std::int64_t{1} << 47;  // the size of the address space
  if (inputs < 0 || outputs < 0 || inputs > kMax || outputs > kMax) {
    throw ShapeError(
        fmt::format("sizes of a quantised matrix must be in [0, 2^47], but are "
                    "[{}, {}]",
                    inputs, outputs));
  }
}

void check_sizes(const InferContext& c, int input, Sizes wanted,
                 const std::optional<std::int64_t>& stack, std::string_view what) {
  if (stack) wanted.insert(wanted.begin(), *stack);
  if (c.shape(input) == Shape(wanted)) return;
  throw ShapeError(fmt::format("{} must be {} (panels of 16 outputs), but is {}", what,
                               to_string(wanted), c.input(input).str()));
}

}  // namespace

void check_quantized(const InferContext& c, int q, int scale, std::int64_t inputs,
                     std::int64_t outputs, DType result, std::optional<std::int64_t> stack) {
  check_matrix_sizes(inputs, outputs);
  if (c.dtype(q) != DType::i8 && c.dtype(q) != DType::u8) {
    throw DTypeError(
        fmt::format("q must be i8 (int8, q8_0) or u8 (int4), but is {}", dtype_name(c.dtype(q))));
  }
  const QuantizedFormat format = quantized_format(c.dtype(q), c.dtype(scale));
  const std::string matrix =
      fmt::format("{} {} matrix [{}, {}]", format == QuantizedFormat::q8_0 ? "a" : "an",
                  quantized_format_name(format), inputs, outputs);
  const DType wanted = quantized_scale_dtype(format);
  // Gradient checks run a double-precision copy of the program, in which int8 scales are f64.
  const bool twin = wanted == DType::f32 && result == DType::f64 && c.dtype(scale) == DType::f64;
  if (c.dtype(scale) != wanted && !twin) {
    throw DTypeError(
        fmt::format("the scale must be {}, but is {}",
                    c.dtype(q) == DType::i8 ? "f32 (int8) or f16 (q8_0)" : "f16 (int4)",
                    dtype_name(c.dtype(scale))));
  }
  check_sizes(c, q, quantized_sizes(format, inputs, outputs), stack, "q of " + matrix);
  check_sizes(c, scale, quantized_scale_sizes(format, inputs, outputs), stack,
              "the scale of " + matrix);
}

void check_levels(const InferContext& c, int q, std::int64_t inputs, std::int64_t outputs) {
  check_matrix_sizes(inputs, outputs);
  c.require_dtype(q, DType::i8, "q");
  check_sizes(c, q, quantized_sizes(QuantizedFormat::int8, inputs, outputs), {},
              fmt::format("q of an int8 matrix [{}, {}]", inputs, outputs));
}

std::optional<std::int64_t> quantized_stack(const InferContext& c, int q) {
  const Shape& shape = c.shape(q);
  if (shape.rank() != static_cast<int>(kMatrixAxes) + 1 || !shape.is_constant()) return {};
  return shape[0].constant();
}

double QuantizedOperands::weight(const KernelRun& run, std::int64_t i, std::int64_t j,
                                 std::int64_t matrix) const {
  // The panels of all matrices follow one another.
  const std::int64_t panel = matrix * panels() + j / kQuantizedPanel, lane = j % kQuantizedPanel;
  const auto group_scale = [&] {
    const auto* scales = run.in<Float16>(static_cast<std::size_t>(scale));
    return scales[(panel * groups() + i / kQuantizedGroup) * kQuantizedPanel + lane];
  };
  if (int4) {
    const auto* bytes = run.in<std::uint8_t>(static_cast<std::size_t>(q));
    const std::uint8_t byte =
        bytes[((panel * 4 * groups() + i / 8) * kQuantizedPanel + lane) * 4 + i % 8 / 2];
    const int nibble = i % 2 == 0 ? byte & 15 : byte >> 4;
    return (nibble < 8 ? nibble : nibble - 16) * static_cast<double>(to_float(group_scale()));
  }
  const std::int64_t quads = divide_up<std::int64_t>(inputs, 4);
  const std::int64_t code = ((panel * quads + i / 4) * kQuantizedPanel + lane) * 4 + i % 4;
  const double step = run.in<std::int8_t>(static_cast<std::size_t>(q))[code];
  if (q8_0) return step * static_cast<double>(to_float(group_scale()));
  const std::int64_t at = panel * kQuantizedPanel + lane;
  return step * (scale_dtype == DType::f64
                     ? run.in<double>(static_cast<std::size_t>(scale))[at]
                     : static_cast<double>(run.in<float>(static_cast<std::size_t>(scale))[at]));
}

QuantizedOperands quantized_operands(const KernelRequest& r, int q, std::int64_t inputs,
                                     std::int64_t outputs) {
  const OperandSpec &codes = r.inputs[static_cast<std::size_t>(q)],
                    &scales = r.inputs[static_cast<std::size_t>(q) + 1];
  const QuantizedFormat format = quantized_format(codes.dtype, scales.dtype);
  QuantizedOperands w{q,
                      q + 1,
                      format == QuantizedFormat::int4,
                      format == QuantizedFormat::q8_0,
                      scales.dtype,
                      inputs,
                      outputs};
  if (codes.sizes.size() > kMatrixAxes) w.stack = codes.sizes[0];
  const auto bytes = [&](const OperandSpec& spec) {
    return w.stack == 0 ? 0
                        : static_cast<std::size_t>(spec.numel() / w.stack) * dtype_size(spec.dtype);
  };
  w.q_bytes = bytes(codes), w.scale_bytes = bytes(scales);
  return w;
}

}  // namespace weft
