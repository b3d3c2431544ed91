#include "weft/graph/functions/sequence/row_lengths.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

Value require_range(const Value& x, const Value& lengths, std::string_view name, const Dim& last,
                    std::int64_t excluded) {
  std::vector<Value> operands = {x};
  if (lengths.defined()) operands.push_back(lengths);
  return x.graph()
      .apply("require_range", operands,
             {{"name", std::string(name)}, {"last", last}, {"excluded", excluded}})
      .output(0);
}

}  // namespace

Value RowLengths::mask() const {
  const Shape sizes{lengths.shape()[0], longest};
  return less(iota(lengths.graph(), sizes, 1, lengths.dtype()), unsqueeze(lengths, 1));
}

RowLengths row_lengths(const OptionalArg& given, const Value& x, const Dim& longest,
                       std::string_view name, std::string_view function, SourceLocation loc) {
  Graph& graph = x.graph();
  const Dim& batch = x.shape()[0];
  if (!given.present()) {
    return {broadcast_to(dim_value(graph, longest), Shape{batch}), false, longest};
  }
  const Value lengths = given.value();
  graph.check_owned(lengths, name, loc);
  if (lengths.dtype() != DType::i32 && lengths.dtype() != DType::i64) {
    graph.fail(
        DTypeError(fmt::format("{} must be i32 or i64, but is {}", name, lengths.type().str())),
        function, {x, lengths}, loc);
  }
  if (lengths.rank() != 1 || !graph.facts().equal(lengths.shape()[0], batch)) {
    graph.fail(ShapeError(fmt::format("{} must be [{}], one length for each row, but is {}", name,
                                      batch.str(), lengths.shape().str())),
               function, {x, lengths}, loc);
  }
  return {require_range(lengths, {}, name, longest, -1), true, longest};
}

Value valid_ids(const Value& x, const RowLengths& lengths, std::string_view name, const Dim& last,
                std::int64_t padding, std::int64_t excluded) {
  const Value checked =
      require_range(x, lengths.given ? lengths.lengths : Value(), name, last, excluded);
  return lengths.given ? where(lengths.mask(), checked, padding) : checked;
}

}  // namespace weft
