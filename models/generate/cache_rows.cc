#include "weft/models/generate/cache_rows.h"

#include "weft/graph/functions.h"

namespace weft {

Program make_reorder_program(const Program& decode) {
  Program reorder("reorder_caches");
  for (const auto& [cache, value] : decode.given_updates()) {
    Graph& graph = value.graph();
    Value rows = graph.find_input("cache_rows");
    if (!rows.defined())
      rows = graph.input("cache_rows", ValueType{DType::i64, Shape{cache.shape()[0]}});
    reorder.update(cache, take(cache, rows, 0));
  }
  return reorder;
}

Program make_copy_program(const Program& decode) {
  Program copy("copy_cache_rows");
  for (const auto& [cache, value] : decode.given_updates()) {
    Graph& graph = value.graph();
    const auto rows = [&](std::string_view name) {
      const Value input = graph.find_input(name);
      return input.defined() ? input : graph.input(name, DType::i64, {"copies"});
    };
    const Value from = rows("copy_from"), to = rows("copy_to");
    copy.update(cache, tensor_scatter(cache, take(cache, from, 0), zeros_like(to),
                                      {.axis = 1, .rows = to}));
  }
  return copy;
}

bool reorders_rows(const Tensor& parents) {
  for (std::int64_t i = 0; i < parents.numel(); ++i) {
    if (parents.data<std::int64_t>()[i] != i) return true;
  }
  return false;
}

}  // namespace weft
