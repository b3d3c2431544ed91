#include "weft/graph/functions/random.h"

#include "weft/graph/functions/arithmetic.h"

namespace weft {
namespace {

Value draw(std::string_view op, Value key, const Shape& shape, std::string_view option,
           Attribute value, SourceLocation loc) {
  Graph& graph = key.graph();
  Attributes attributes{{"shape", shape}, {"stream", graph.next_stream()}};
  attributes.set(option, std::move(value));
  return graph.apply(op, {key}, std::move(attributes), loc).output(0);
}

/// draw * scale + shift, without what changes nothing.
Value affine(Value x, double scale, double shift) {
  if (scale != 1) x = mul(x, scale);
  return shift == 0 ? x : add(x, shift);
}

}  // namespace

Value uniform(Arg key, const Shape& shape, double low, double high, DType dtype) {
  const Value k = key.value("uniform");
  const Graph::Frame frame(k.graph(), "uniform", key.location());
  return affine(draw("random_uniform", k, shape, "dtype", dtype, key.location()), high - low, low);
}

Value normal(Arg key, const Shape& shape, double mean, double std, DType dtype) {
  const Value k = key.value("normal");
  const Graph::Frame frame(k.graph(), "normal", key.location());
  return affine(draw("random_normal", k, shape, "dtype", dtype, key.location()), std, mean);
}

Value bernoulli(Arg key, const Shape& shape, double p) {
  return draw("random_bernoulli", key.value("bernoulli"), shape, "p", p, key.location());
}

Value dropout(Arg x, double rate, Arg key) {
  const Value v = x.value("dropout"), k = key.value("dropout");
  if (rate == 0) return v;
  Graph& graph = v.graph();
  return graph
      .apply("dropout", {v, k}, {{"rate", rate}, {"stream", graph.next_stream()}}, x.location())
      .output(0);
}

Value advance_key(Arg key) { return apply_unary("key_advance", key); }

Value fold_key(Arg key, Arg index) {
  const Value k = key.value("fold_key");
  const Value i = index.value_as(k.graph(), DType::i64, "fold_key");
  return k.graph().apply("key_fold", {k, i}, {}, key.location()).output(0);
}

}  // namespace weft
