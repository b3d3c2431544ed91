#include "weft/models/layers/attention/relative_bias.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/graph/functions.h"

namespace weft {
namespace {

/// Returns the biases [heads, count] for the offsets -zero, ..., count - zero - 1.
Value look_up(const RelativeBias& layer, const Dim& count, const Dim& zero) {
  Graph& graph = layer.scope.graph();
  // Offsets beyond max_distance share the bucket of the largest distance.
  const std::int64_t end = layer.options.max_distance;
  std::vector<std::int64_t> buckets;
  for (std::int64_t offset = -end; offset <= end; ++offset)
    buckets.push_back(relative_bucket(offset, layer.options));
  const Value table = graph.constant(Tensor::of({2 * end + 1}, buckets));
  const Value offset = iota(graph, {count}, 0, DType::i64) - dim_value(graph, zero, DType::i64);
  const auto bound = static_cast<double>(end);
  const Value bucket = take(table, clamp(offset, -bound, bound) + end);
  return transpose(take(layer.weight, bucket));
}

}  // namespace

std::int64_t relative_bucket(std::int64_t offset, const RelativeBiasOptions& options) {
  std::int64_t buckets = options.buckets, first = 0, distance = -std::min<std::int64_t>(offset, 0);
  if (options.bidirectional) {
    buckets /= 2;
    first = offset > 0 ? buckets : 0;
    distance = std::abs(offset);
  }
  const std::int64_t exact = buckets / 2;
  if (distance < exact) return first + distance;
  // Single precision, as in the reference implementation, so that both round at the same distances.
  const auto scale = static_cast<float>(
      std::log(static_cast<double>(options.max_distance) / static_cast<double>(exact)));
  const float share = std::log(static_cast<float>(distance) / static_cast<float>(exact)) / scale;
  const auto more = static_cast<std::int64_t>(share * static_cast<float>(buckets - exact));
  return first + std::min(exact + more, buckets - 1);
}

Value RelativeBias::operator()(const Dim& queries, const Dim& keys) const {
  return look_up(*this, queries + keys - 1, queries - 1);
}

Value RelativeBias::over_cache(const Dim& capacity) const {
  return look_up(*this, capacity * 2, capacity);
}

RelativeBias make_relative_bias(const Scope& scope, DType dtype, const RelativeBiasOptions& options,
                                SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "relative_bias", loc, scope.path());
  const std::int64_t buckets = options.bidirectional ? options.buckets / 2 : options.buckets;
  if (options.heads < 1 || buckets < 2 || options.max_distance <= buckets / 2) {
    scope.graph().fail(
        ArgumentError(fmt::format(
            "a relative bias needs at least 1 head, 2 buckets per direction and a max_distance of "
            "more than half this number of buckets: heads is {}, buckets {}, max_distance {}",
            options.heads, options.buckets, options.max_distance)),
        "relative_bias", {}, loc);
  }
  return {scope, options,
          scope.variable("weight", dtype, {options.buckets, options.heads},
                         {.initializer = options.initializer})};
}

}  // namespace weft
