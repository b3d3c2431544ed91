// The record of rope (rotary position embedding).
#include <fmt/format.h>

#include <cmath>

#include "weft/ops/builtin.h"
#include "weft/ops/kernels/sequence/rope.h"

namespace weft {
namespace {

std::vector<ValueType> infer_rope(const InferContext& c) {
  c.require_floating(0, "x");
  c.require_rank(0, 4, "x");
  c.require_index(1, "positions");
  const Dim &batch = c.shape(0)[0], &length = c.shape(0)[2], &width = c.shape(0)[3];
  if (!c.equal(c.shape(1), Shape{batch, length}) && !c.equal(c.shape(1), Shape{length})) {
    throw ShapeError(
        fmt::format("positions must have shape [batch, length] = {} or [length] = {}, but has {}",
                    Shape{batch, length}.str(), Shape{length}.str(), c.shape(1).str()));
  }
  const std::int64_t rotary = c.attributes().integer("rotary_dim");
  if (rotary < 0 || rotary % 2 != 0 || (width.is_constant() && rotary > width.constant())) {
    throw ArgumentError(fmt::format(
        "rotary_dim must be even and at most the head size {}, but is {}", width.str(), rotary));
  }
  if (!(c.attributes().real("base") > 0)) {
    throw ArgumentError(
        fmt::format("base must be positive, but is {}", c.attributes().real("base")));
  }
  return {c.input(0)};
}

template <class T>
Kernel rope_kernel(const KernelRequest& request) {
  const Sizes& sizes = request.inputs[0].sizes;
  const std::int64_t batch = sizes[0], heads = sizes[1], length = sizes[2], width = sizes[3];
  const bool per_batch = request.inputs[1].sizes.size() == 2;
  const bool wide = request.inputs[1].dtype == DType::i64;
  const std::int64_t rotary = request.attributes.integer("rotary_dim"), pairs = rotary / 2;
  if (rotary > width) {
    throw ArgumentError(fmt::format(
        "rotary_dim must be even and at most the head size {}, but is {}", width, rotary));
  }
  const bool adjacent = request.attributes.flag("adjacent");
  const double sign = request.attributes.flag("inverse") ? -1 : 1;
  std::vector<double> frequencies;
  for (std::int64_t j = 0; j < pairs; ++j) {
    frequencies.push_back(std::pow(request.attributes.real("base"),
                                   -2.0 * static_cast<double>(j) / static_cast<double>(rotary)));
  }

  // Tables of cosines and sines, each [places, pairs], with one row per element of positions.
  const std::int64_t places = request.inputs[1].numel(), table = places * pairs;
  Kernel kernel;
  kernel.shared_scratch = static_cast<std::size_t>(2 * table) * sizeof(T);
  Phase angles;
  angles.chunks =
      chunk_count(places, std::max<std::int64_t>(1, 1024 / std::max<std::int64_t>(pairs, 1)));
  angles.cost_ns = 30.0 * static_cast<double>(table);
  angles.body = [=, chunks = angles.chunks](const KernelRun& run, std::int64_t chunk) {
    T* cosines = reinterpret_cast<T*>(run.shared_scratch);
    const auto [begin, end] = chunk_range(places, chunks, chunk);
    for (std::int64_t p = begin; p < end; ++p) {
      const std::int64_t position = wide ? run.in<std::int64_t>(1)[p] : run.in<std::int32_t>(1)[p];
      for (std::int64_t j = 0; j < pairs; ++j) {
        const double angle =
            static_cast<double>(position) * frequencies[static_cast<std::size_t>(j)];
        cosines[p * pairs + j] = static_cast<T>(std::cos(angle));
        cosines[table + p * pairs + j] = static_cast<T>(sign * std::sin(angle));
      }
    }
  };
  kernel.phases.push_back(std::move(angles));

  // A unit of work is a range of rows of one head.
  const std::int64_t piece =
      std::max<std::int64_t>(1, (1 << 14) / std::max<std::int64_t>(width, 1));
  const std::int64_t pieces = (length + piece - 1) / piece, units = batch * heads * pieces;
  Phase rotate;
  rotate.chunks =
      chunk_count(units, std::max<std::int64_t>(1, piece / std::max<std::int64_t>(length, 1)));
  rotate.cost_ns = static_cast<double>(request.inputs[0].numel()) / 2;
  rotate.body = [=, chunks = rotate.chunks](const KernelRun& run, std::int64_t chunk) {
    const T* tables = reinterpret_cast<const T*>(run.shared_scratch);
    const auto [begin, end] = chunk_range(units, chunks, chunk);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t head = unit / pieces, first = unit % pieces * piece;
      const std::int64_t place = (per_batch ? head / heads * length : 0) + first;
      const std::int64_t offset = (head * length + first) * width;
      rope_rows(RopeRows<T>{run.in<T>(0) + offset, run.out<T>(0) + offset, tables + place * pairs,
                            tables + table + place * pairs, std::min(piece, length - first), width,
                            pairs, adjacent});
    }
  };
  kernel.phases.push_back(std::move(rotate));
  return kernel;
}

Kernel rope_kernel(const KernelRequest& request) {
  return request.inputs[0].dtype == DType::f32 ? rope_kernel<float>(request)
                                               : rope_kernel<double>(request);
}

}  // namespace

void RopeOps::add(OpSet& ops) {
  OpRecord rope;
  rope.name = "rope";
  rope.doc =
      "Rotates pair j of x [B,H,L,D] by positions * base^(-2j/rotary_dim), j < rotary_dim/2 (Su "
      "et al. 2021). Pair j is (j, j + rotary_dim/2), or (2j, 2j+1) if adjacent; features starting "
      "with rotary_dim are copied; inverse rotates in the opposite direction. positions are [B,L] "
      "or [L]; angles are computed in double.";
  rope.inputs = {{"x"}, {"positions"}};
  rope.attributes = {{"rotary_dim", std::int64_t{0}, true},
                     {"base", 10000.0},
                     {"adjacent", false},
                     {"inverse", false}};
  rope.inplace = {{0, 0}};
  rope.infer = infer_rope;
  rope.kernel = rope_kernel;
  ops.add(std::move(rope));
}

}  // namespace weft
