// Compares a product with fused steps with the same product followed by separate steps. The bits
// must be equal on every SIMD target and at every precision.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/ops/evaluate_at.h"
#include "weft/tests/samples/sample_data.h"

namespace weft::testing {
namespace {

void check(const std::vector<Tensor>& inputs, const Attributes& attributes, Precision precision,
           const char* target) {
  const auto fused = evaluate_at(precision, "matmul_fused", inputs, attributes);
  const Tensor product = evaluate_at(precision, "matmul", {inputs[0], inputs[1]},
                                     {{"transpose_a", attributes.flag("transpose_a")},
                                      {"transpose_b", attributes.flag("transpose_b")}})[0];
  std::vector<Tensor> operands = {product};
  operands.insert(operands.end(), inputs.begin() + 2, inputs.end());
  auto steps = evaluate_at(precision, "fused", operands, {{"program", attributes.text("program")}});
  steps.insert(steps.begin(), product);
  BOOST_REQUIRE_EQUAL(fused.size(), steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    BOOST_TEST(bitwise_equal(fused[i], steps[i]),
               fmt::format("output {} of {} x {} differs on {}", i, to_string(inputs[0].sizes()),
                           to_string(inputs[1].sizes()), target));
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(matmul_fused)

BOOST_AUTO_TEST_CASE(samples_match_the_unfused_ops_bit_for_bit) {
  const OpRecord& op = builtin_ops()->at("matmul_fused");
  for_each_simd_target([&](const char* target) {
    for (const OpSample& sample : op.samples()) {
      check(sample.inputs, op.complete(sample.attributes), Precision::highest, target);
    }
  });
}

BOOST_AUTO_TEST_CASE(every_precision_and_tile_shape_matches_the_unfused_ops) {
  const Attributes attributes =
      builtin_ops()
          ->at("matmul_fused")
          .complete({{"program",
                      std::string(
                          "%3 = add(%0, %1); %4 = gelu_erf(%3); %5 = add(%4, %2); return %5, %3")},
                     {"transpose_b", true}});
  for (const auto precision : {Precision::highest, Precision::high, Precision::medium}) {
    for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
             {1, 700, 900}, {5, 64, 70}, {257, 530, 300}, {130, 90, 5000}, {300, 3, 40}}) {
      for (const DType weights : {DType::f32, DType::bf16}) {
        check({sample_uniform({m, k}, 1), sample_uniform({n, k}, 2).to(weights),
               sample_uniform({n}, 3), sample_uniform({m, n}, 4)},
              attributes, precision, "the best target");
      }
    }
  }
  const kernels::ForcedBf16Unit forced(kernels::Bf16Unit::emulated_dot);
  check({sample_uniform({5, 70}, 1), sample_uniform({64, 70}, 2).to(DType::bf16),
         sample_uniform({64}, 3), sample_uniform({5, 64}, 4)},
        attributes, Precision::medium, "emulated dot products");
}

BOOST_AUTO_TEST_CASE(a_gap_between_step_operands_is_an_argument_error) {
  const Tensor x = sample_uniform({3, 3}, 1);
  const auto gap = [](const ArgumentError& e) {
    return std::string_view(e.what()).find("is missing, but operand") != std::string_view::npos;
  };
  const Attributes steps{{"program", std::string("%2 = add(%0, %1); return %2")}};
  BOOST_CHECK_EXCEPTION(evaluate_op(builtin_ops()->at("matmul_fused"), {x, x, {}, x}, steps),
                        ArgumentError, gap);
  BOOST_CHECK_EXCEPTION(evaluate_op(builtin_ops()->at("fused"), {x, {}, x}, steps), ArgumentError,
                        gap);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
