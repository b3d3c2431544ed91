// Uses weft::testing without a test framework: checks a custom operation, its gradient, its program
// and its file.
#include <cmath>
#include <cstdio>
#include <iostream>

#include "weft/autodiff/check_gradients.h"
#include "weft/autodiff/rule.h"
#include "weft/graph/functions.h"
#include "weft/ops/custom_op.h"
#include "weft/testing/random_tensors.h"
#include "weft/testing/record_checks.h"
#include "weft/testing/run_checks.h"

namespace {

using namespace weft;

OpRecord softsign() {
  OpRecord r = elementwise_op("softsign", [](auto x) { return x / (1 + std::abs(x)); });
  r.doc = "x / (1 + |x|).";
  r.rule = [](const GradientContext& c) {
    return std::vector<Value>{c.cotangent() / square(1 + abs(c.input(0)))};
  };
  return r;
}

// Works like EXPECT_TRUE(found) << found in GoogleTest, or CHECK(found) in doctest and Catch2: a
// check converts to bool and prints its message.
template <class Found>
bool expect(const char* what, const Found& found) {
  if (!found) std::cerr << what << ": " << found << "\n";
  return static_cast<bool>(found);
}

}  // namespace

int main() {
  const auto ops = with_ops({softsign()});
  Graph g(ops);
  const Value x = g.input("x", DType::f32, {"batch", 6});
  const Variable w = g.variable("w", DType::f32, {6, 3}, {.initializer = Initializer::normal(1)});
  const Value y = apply_op("softsign", {matmul(x, w)});
  const Program program = Program("own").output("y", y);
  const testing::RunSetup setup{.feeds = {{"x", testing::normal_tensor({4, 6}, 1)}}};

  bool passed = expect("the operation", testing::check_record(ops, "softsign"));
  passed &= expect("gradients", check_gradients(y, {x, w}, {.feeds = setup.feeds}));
  passed &= expect("determinism", testing::check_determinism(g, program, setup));
  passed &= expect("text and file", testing::check_round_trip(g, program, setup));
  if (passed) std::printf("all checks passed\n");
  return passed ? 0 : 1;
}
