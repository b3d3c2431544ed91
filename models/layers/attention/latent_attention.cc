#include "weft/models/layers/attention/latent_attention.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions/shape.h"
#include "weft/models/layers/attention/heads.h"

namespace weft {

QueriesKeysValues LatentProjection::operator()(Value x, FunctionRef<Value(Value)> rotate) const {
  const std::int64_t plain = head_size - rotary;
  const auto with_positions = [&](const Value& unrotated, const Value& rotated) {
    return rotary == 0 ? unrotated : concat({unrotated, rotated}, 3);
  };
  Value q = split_heads(query(query_down ? (*query_norm)((*query_down)(x)) : x), heads);
  const std::vector<Value> down = split(kv_down(x), {options.kv_rank, rotary}, -1);
  const std::vector<Value> up =
      split(split_heads(kv_up(kv_norm(down[0])), heads), {plain, options.value_size}, -1);
  Value k = up[0];
  if (rotary > 0) {
    const std::vector<Value> parts = split(q, {plain, rotary}, -1);
    q = with_positions(parts[0], rotate(parts[1]));
    const Value shared = rotate(unsqueeze(down[1], 1));
    k = with_positions(k, broadcast_to(shared, {x.size(0), heads, x.size(1), rotary}));
  }
  return {q, k, up[1]};
}

LatentProjection make_latent_projection(const Scope& scope, DType dtype, std::int64_t width,
                                        std::int64_t heads, std::int64_t head_size,
                                        std::int64_t rotary, const LatentAttentionOptions& given,
                                        const LinearOptions& in, SourceLocation loc) {
  Graph::Frame frame(scope.graph(), "latent_attention", loc, scope.path());
  if (given.kv_rank < 1 || given.query_rank < 0 || given.value_size < 0 || rotary < 0 ||
      rotary >= head_size) {
    scope.graph().fail(ArgumentError(fmt::format(
                           "latent attention needs a kv_rank of at least 1, other sizes of at "
                           "least 0, and fewer rotary features than features per head, not "
                           "kv_rank {}, query_rank {}, value_size {}, {} rotary features of {}",
                           given.kv_rank, given.query_rank, given.value_size, rotary, head_size)),
                       "latent_attention", {}, loc);
  }
  LatentAttentionOptions options = given;
  if (options.value_size == 0) options.value_size = head_size;
  LinearOptions up = in;
  up.bias = false;
  const bool compressed = options.query_rank > 0;
  std::optional<Linear> query_down;
  std::optional<Norm> query_norm;
  if (compressed) {
    query_down = make_linear(scope / "query_down", dtype, width, options.query_rank, in);
    query_norm = make_norm(scope / "query_down_norm", dtype, options.query_rank, options.norm);
  }
  const Linear query = make_linear(scope / (compressed ? "query_up" : "query"), dtype,
                                   compressed ? options.query_rank : width, heads * head_size, up);
  const Linear kv_down = make_linear(scope / "kv_down", dtype, width, options.kv_rank + rotary, in);
  const Norm kv_norm = make_norm(scope / "kv_down_norm", dtype, options.kv_rank, options.norm);
  const Linear kv_up = make_linear(scope / "kv_up", dtype, options.kv_rank,
                                   heads * (head_size - rotary + options.value_size), up);
  return {options,    heads, head_size, rotary,  query_down,
          query_norm, query, kv_down,   kv_norm, kv_up};
}

}  // namespace weft
