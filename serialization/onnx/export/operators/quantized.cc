// Quantised weights and activations.
#include <algorithm>
#include <limits>

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/ops/quantized/quantized.h"
#include "weft/serialization/onnx/export/operators.h"

namespace weft::onnx {
namespace {

using Values = std::vector<Value>;

// Quantised matrices [count, inputs, outputs] in row-major order. `scale` is f32 [count, outputs],
// or [count, groups, outputs] for blocks of 32 inputs; blocks are padded with zeros.
struct PlainMatrices {
  std::int64_t count = 1, inputs = 0, outputs = 0, groups = 0;
  Tensor levels = {}, scale = {};
};

void unpack_channels(const Tensor& q, const Tensor& scale, PlainMatrices& m) {
  const std::int64_t words = (m.inputs + 3) / 4, panels = (m.outputs + 15) / 16;
  for (std::int64_t n = 0; n < m.count; ++n) {
    const std::int8_t* from = q.data<std::int8_t>() + n * panels * words * 64;
    const float* factor = scale.data<float>() + n * panels * 16;
    std::int8_t* to = m.levels.mutable_data<std::int8_t>() + n * m.inputs * m.outputs;
    for (std::int64_t o = 0; o < m.outputs; ++o) {
      m.scale.mutable_data<float>()[n * m.outputs + o] = factor[o];
      const std::int8_t* lane = from + o / 16 * words * 64 + o % 16 * 4;
      for (std::int64_t i = 0; i < m.inputs; ++i) {
        to[i * m.outputs + o] = lane[i / 4 * 64 + i % 4];
      }
    }
  }
}

void unpack_blocks(QuantizedFormat format, const Tensor& q, const Tensor& scale, PlainMatrices& m) {
  const std::int64_t count = std::max<std::int64_t>(m.count, 1);
  const std::int64_t q_bytes = static_cast<std::int64_t>(q.bytes()) / count;
  const std::int64_t scales = scale.numel() / count;
  for (std::int64_t n = 0; n < m.count; ++n) {
    // Only read.
    const QuantizedGroups groups(format, m.inputs, const_cast<std::byte*>(q.raw()) + n * q_bytes,
                                 const_cast<Float16*>(scale.data<Float16>()) + n * scales);
    for (std::int64_t g = 0; g < m.groups; ++g) {
      for (std::int64_t o = 0; o < m.outputs; ++o) {
        const QuantizedGroup group = groups.get(o, g);
        const std::int64_t block = n * m.groups + g;
        m.scale.mutable_data<float>()[block * m.outputs + o] = to_float(group.scale);
        for (std::int64_t i = 0; i < kQuantizedGroup; ++i) {
          m.levels.mutable_data<std::int8_t>()[(block * kQuantizedGroup + i) * m.outputs + o] =
              group.levels[static_cast<std::size_t>(i)];
        }
      }
    }
  }
}

PlainMatrices unpack(const NodeExport& e) {
  const std::optional<Tensor> q = e.known(0), scale = e.known(1);
  if (!q || !scale) e.unsupported("the quantised matrix is not a variable or a constant");
  const QuantizedFormat format = quantized_format(q->dtype(), scale->dtype());
  PlainMatrices m{.count = q->rank() == 5 ? q->size(0) : 1,
                  .inputs = e.integer("inputs"),
                  .outputs = e.integer("outputs")};
  const bool blocks = format != QuantizedFormat::int8;
  if (blocks) m.groups = (m.inputs + kQuantizedGroup - 1) / kQuantizedGroup;
  m.levels = Tensor::empty(DType::i8,
                           {m.count, blocks ? m.groups * kQuantizedGroup : m.inputs, m.outputs});
  m.scale = Tensor::empty(DType::f32,
                          blocks ? Sizes{m.count, m.groups, m.outputs} : Sizes{m.count, m.outputs});
  blocks ? unpack_blocks(format, *q, *scale, m) : unpack_channels(*q, *scale, m);
  return m;
}

// Two signed numbers of 4 bits per byte, the first in the low half.
Tensor packed_halves(const Tensor& levels) {
  const auto* from = levels.data<std::int8_t>();
  Tensor bytes = Tensor::zeros(DType::u8, {(levels.numel() + 1) / 2});
  auto* to = bytes.mutable_data<std::uint8_t>();
  for (std::int64_t i = 0; i < levels.numel(); ++i) {
    to[i / 2] = static_cast<std::uint8_t>(to[i / 2] | ((from[i] & 15) << (i % 2 * 4)));
  }
  return bytes;
}

Names export_dequantize(const NodeExport& e) {
  if (e.out_type().shape.numel() == Dim(0)) {
    return {e.constant(Tensor::empty(e.out_type().dtype, e.out_type().shape.constant()))};
  }
  const PlainMatrices m = unpack(e);
  const bool stacked = e.type().shape.rank() == 5;
  const Sizes sizes = {m.inputs, m.outputs};
  const auto levels = [&](const Sizes& as) {
    return e.graph().repacked(e.name(0), onnx_proto::Tensor::INT8, as, m.levels);
  };
  const auto scales = [&](const Sizes& as) {
    return e.graph().repacked(e.name(1), onnx_proto::Tensor::FLOAT, as, m.scale);
  };
  std::string x;
  if (m.groups == 0 && !stacked) {
    x = e.add("DequantizeLinear", {levels(sizes), scales({m.outputs})},
              {{"axis", std::int64_t{1}}});
  } else if (!stacked && e.opset() >= 21 && m.inputs % kQuantizedGroup == 0) {
    const bool halves = e.type().dtype == DType::u8;
    const std::string q = halves ? e.graph().repacked(e.name(0), onnx_proto::Tensor::INT4, sizes,
                                                      packed_halves(m.levels))
                                 : levels(sizes);
    x = e.add("DequantizeLinear", {q, scales({m.groups, m.outputs})},
              {{"axis", std::int64_t{0}}, {"block_size", kQuantizedGroup}});
  } else {
    const bool blocks = m.groups > 0;
    const Sizes split = blocks ? Sizes{m.count, m.groups, kQuantizedGroup, m.outputs}
                               : Sizes{m.count, m.inputs, m.outputs};
    const Sizes factors =
        blocks ? Sizes{m.count, m.groups, 1, m.outputs} : Sizes{m.count, 1, m.outputs};
    x = e.add("Mul", {e.cast(levels(split), DType::f32), scales(factors)});
    const std::int64_t rows = blocks ? m.groups * kQuantizedGroup : m.inputs;
    x = e.add("Reshape",
              {x, e.list(stacked ? Sizes{m.count, rows, m.outputs} : Sizes{rows, m.outputs})});
    if (rows != m.inputs) {
      x = e.add("Slice", {x, e.list({0}), e.list({m.inputs}), e.list({stacked ? 1 : 0})});
    }
  }
  if (e.attributes().flag("transposed")) {
    x = e.add("Transpose", {x}, {{"perm", stacked ? Sizes{0, 2, 1} : Sizes{1, 0}}});
  }
  return {e.out_type().dtype == DType::f32 ? x : e.cast(x, e.out_type().dtype)};
}

Values lower_fake_quantize(const Node&, const Values& in, Graph&) {
  const Value& x = in[0];
  if (x.shape()[x.rank() - 1] == Dim(0)) return {x};
  constexpr double kLeast = 0x1p-100, kNan = std::numeric_limits<double>::quiet_NaN();
  Value step;
  if (in.size() > 1 && in[1].defined()) {
    const Value inside = logical_and(in[1] >= kLeast, in[1] <= 1 / kLeast);
    step = where(inside, in[1], kNan);
  } else {
    const Value largest = max(abs(x), -1, true);
    step = where(largest < kLeast, 1, largest / 127);
  }
  return {clamp(round(x / step), -127, 127) * step};
}

constexpr Exporter kQuantized[] = {
    {"dequantize", export_dequantize},
    {"fake_quantize", lower_fake_quantize},
};

}  // namespace

std::span<const Exporter> quantized_exporters() { return kQuantized; }

}  // namespace weft::onnx
