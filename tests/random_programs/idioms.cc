#include "weft/tests/random_programs/idioms.h"

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions/reduce.h"

namespace weft::testing {

Value any_float(Builder& b, int rank) {
  RandomSource& random = b.random();
  for (int i = 0; i < 12; ++i) {
    const auto n = static_cast<std::int64_t>(b.pool().size());
    const std::int64_t back =
        random.chance(0.6) ? random.below(std::min<std::int64_t>(n, 8)) : random.below(n);
    const Builder::Entry& e = b.pool()[static_cast<std::size_t>(n - 1 - back)];
    const bool fits =
        e.value.dtype() == DType::f32 || (e.value.dtype() == DType::f64 && random.chance(0.3));
    bool known = fits && e.value.rank() >= rank && e.value.rank() <= 4;
    for (const Tensor& t : e.tensors) known = known && t.defined();
    if (known) return e.value;
  }
  Shape shape;
  for (int a = 0; a < rank; ++a) {
    const auto& symbols = b.graph().symbols();
    const bool symbol = b.declares && !symbols.empty() && random.chance(0.3);
    shape.push_back(symbol ? Dim(random.pick(symbols)) : Dim(any_size(random)));
  }
  return b.leaf(DType::f32, shape);
}

std::int64_t any_size(RandomSource& random) {
  return random.pick({1, 2, 3, 3, 4, 5, 7, 8, 9, 16, 17});
}

bool add_gradients(Builder& b, Value loss, const std::vector<Value>& wrt) {
  gradients(sum(loss), wrt, {.unreachable = Unreachable::zeros});
  return b.evaluate_new(true);
}

bool grow_idiom(Builder& b) {
  static const std::vector<Idiom> inside = [] {
    std::vector<Idiom> all = network_idioms();
    for (const Idiom idiom : memory_idioms()) all.push_back(idiom);
    return all;
  }();
  static const std::vector<Idiom> stateful = state_idioms();
  try {
    if (b.declares && b.random().chance(0.25)) return b.random().pick(stateful)(b);
    return b.random().pick(inside)(b);
  } catch (const Error&) {
    // A shape does not match, or an op has no gradient. The nodes that were already created stay in
    // the graph.
    b.evaluate_new(true);
    return false;
  }
}

}  // namespace weft::testing
