#include "weft/ops/custom_op.h"

#include <algorithm>

#include "weft/ops/elementwise.h"

namespace weft {
namespace {

constexpr double kPieceNs = 16384;

std::vector<ValueType> infer_same_floats(const InferContext& context) {
  Shape shape = context.shape(0);
  for (int i = 0; i < context.input_count(); ++i) {
    context.require_floating(i, "every operand");
    if (i == 0) continue;
    context.require_same_dtype(0, i);
    shape = context.broadcast(shape, context.shape(i));
  }
  return {{context.dtype(0), std::move(shape)}};
}

std::vector<OpSample> samples_of(std::size_t operands) {
  const std::vector<std::vector<Sizes>> kShapes = {{{7}, {7}, {7}},
                                                   {{2, 3}, {3}, {2, 1}},
                                                   {{}, {5}, {1}},
                                                   {{4, 37}, {}, {37}},
                                                   {{2, 0}, {}, {}}};
  std::vector<OpSample> samples;
  for (const std::vector<Sizes>& shapes : kShapes) {
    OpSample sample;
    for (std::size_t i = 0; i < operands; ++i) {
      const auto seed = static_cast<std::uint32_t>(3 * samples.size() + i + 1);
      const int side = operands == 2 ? (i == 0 ? -1 : 1) : 0;
      sample.inputs.push_back(elementwise::sample_values(shapes[i], -2, 2, seed, side));
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

}  // namespace

Phase loop_phase(std::int64_t count, double ns_each,
                 std::function<void(const KernelRun&, std::int64_t begin, std::int64_t end)> body) {
  const auto grain = static_cast<std::int64_t>(kPieceNs / std::max(ns_each, 1e-3));
  const std::int64_t chunks = chunk_count(count, std::max<std::int64_t>(grain, 1));
  Phase phase;
  phase.chunks = chunks;
  phase.cost_ns = ns_each * static_cast<double>(count);
  phase.body = [count, chunks, body = std::move(body)](const KernelRun& run, std::int64_t chunk) {
    const ChunkRange range = chunk_range(count, chunks, chunk);
    if (range.begin < range.end) body(run, range.begin, range.end);
  };
  return phase;
}

Kernel loop_kernel(
    std::int64_t count, double ns_each,
    std::function<void(const KernelRun&, std::int64_t begin, std::int64_t end)> body) {
  Kernel kernel;
  kernel.phases.push_back(loop_phase(count, ns_each, std::move(body)));
  return kernel;
}

Shape without_axis(const Shape& shape, int axis) {
  std::vector<Dim> dims = shape.dims();
  dims.erase(dims.begin() + normalize_axis(axis, shape.rank()));
  return Shape(std::move(dims));
}

namespace custom_op_detail {

OpRecord elementwise_record(std::string name, std::size_t operands,
                            std::vector<AttributeSpec> attributes, RowRule row) {
  OpRecord record;
  record.name = std::move(name);
  record.inputs =
      operands == 1 ? std::vector<InputSpec>{{"x"}} : std::vector<InputSpec>{{"a"}, {"b"}, {"c"}};
  record.inputs.resize(operands);
  for (std::size_t i = 0; i < operands; ++i) record.inplace.emplace_back(0, static_cast<int>(i));
  record.attributes = std::move(attributes);
  record.traits = Trait::elementwise;
  record.infer = infer_same_floats;
  elementwise::set_row(record, std::move(row));
  record.samples = [operands] { return samples_of(operands); };
  record.error_samples = [operands] {
    std::vector<OpErrorSample> samples;
    samples.push_back({std::vector<ValueType>(operands, {DType::i32, {2}}),
                       {},
                       "every operand must be f32 or f64, but is i32"});
    return samples;
  };
  return record;
}

}  // namespace custom_op_detail
}  // namespace weft
