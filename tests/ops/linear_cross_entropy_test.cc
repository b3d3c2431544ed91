// Compares linear_cross_entropy with the separate product and loss, at sizes that need several
// chunks.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/core/error.h"
#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

std::vector<Tensor> run(const char* op, const std::vector<Tensor>& inputs,
                        const Attributes& attributes = {}) {
  return evaluate_op(builtin_ops()->at(op), inputs, attributes);
}

void check_close(const Tensor& a, const Tensor& b, double tolerance) {
  BOOST_REQUIRE((a.sizes() == b.sizes()));
  double worst = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) worst = std::max(worst, std::abs(a.at(i) - b.at(i)));
  BOOST_TEST(worst <= tolerance);
}

struct HeadCase {
  std::int64_t rows, depth, classes, chunk_bytes;
  bool transposed;
  DType dtype;
};

// Compares the fused ops with the unfused ones, which are computed in double precision.
void check(const HeadCase& c, double tolerance) {
  const double e = 0.1;
  const std::int64_t ignore = 3;
  const Tensor x = sample_uniform({c.rows, c.depth}, 1).to(c.dtype);
  const Tensor weight =
      sample_uniform(c.transposed ? Sizes{c.classes, c.depth} : Sizes{c.depth, c.classes}, 2)
          .to(c.dtype);
  const Tensor bias = sample_uniform({c.classes}, 3).to(c.dtype);
  const Tensor targets = sample_indices({c.rows}, 4, c.classes);
  const Tensor g = sample_uniform({c.rows}, 5).to(c.dtype);
  const Attributes attributes{{"transpose_weight", c.transposed},
                              {"ignore_index", ignore},
                              {"label_smoothing", e},
                              {"chunk_bytes", c.chunk_bytes}};
  const Attributes loss{
      {"axis", std::int64_t{1}}, {"ignore_index", ignore}, {"label_smoothing", e}};
  const auto wide = [](const Tensor& t) { return t.to(DType::f64); };
  const Tensor product = run("matmul", {wide(x), wide(weight)}, {{"transpose_b", c.transposed}})[0];
  const Tensor logits = run("add", {product, wide(bias)})[0];
  const auto expected = run("cross_entropy", {logits, targets}, loss);
  const Tensor d = run("cross_entropy_grad", {wide(g), logits, targets, expected[1]}, loss)[0];
  const Tensor dx = run("matmul", {d, wide(weight)}, {{"transpose_b", !c.transposed}})[0];
  const Tensor dweight = c.transposed ? run("matmul", {d, wide(x)}, {{"transpose_a", true}})[0]
                                      : run("matmul", {wide(x), d}, {{"transpose_a", true}})[0];
  const Tensor dbias =
      run("sum", {d}, {{"axes", std::vector<std::int64_t>{0}}, {"keepdims", false}})[0];

  const auto forward = run("linear_cross_entropy", {x, weight, bias, targets}, attributes);
  check_close(forward[0], expected[0], tolerance);
  check_close(forward[1], expected[1], tolerance);
  const auto grad =
      run("linear_cross_entropy_grad", {g, x, weight, bias, targets, forward[1]}, attributes);
  const auto both =
      run("linear_cross_entropy_with_grad", {g, x, weight, bias, targets}, attributes);
  check_close(grad[0], dx, tolerance * std::sqrt(static_cast<double>(c.classes)));
  check_close(grad[1], dweight, tolerance * std::sqrt(static_cast<double>(c.rows)));
  check_close(grad[2], dbias, tolerance * std::sqrt(static_cast<double>(c.rows)));
  for (std::size_t i = 0; i < 2; ++i) BOOST_TEST(bitwise_equal(both[i], forward[i]));
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(bitwise_equal(both[2 + i], grad[i]));
}

BOOST_AUTO_TEST_SUITE(linear_cross_entropy)

BOOST_AUTO_TEST_CASE(linear_cross_entropy_matches_the_unfused_ops) {
  testing::for_each_simd_target([](const char*) {
    for (const bool transposed : {true, false}) {
      check({70, 13, 37, 4096, transposed, DType::f32}, 5e-6);
      check({70, 13, 37, 4096, transposed, DType::f64}, 1e-13);
      check({33, 64, 1000, 0, transposed, DType::f32}, 1e-5);
    }
  });
}

BOOST_AUTO_TEST_CASE(a_large_vocabulary_is_processed_in_chunks_of_64_mib) {
  const std::int64_t rows = 400, classes = 50257;
  const Tensor x = sample_uniform({rows, 4}, 1), weight = sample_uniform({classes, 4}, 2);
  const Tensor targets = sample_indices({rows}, 4, classes);
  KernelRequest request;
  request.attributes = builtin_ops()->at("linear_cross_entropy").complete({});
  request.inputs = {{DType::f32, x.sizes()},
                    {DType::f32, weight.sizes()},
                    {DType::f32, {}, false},
                    {DType::i64, targets.sizes()}};
  request.outputs = {{DType::f32, {rows}}, {DType::f32, {rows}}};
  const Kernel kernel = builtin_ops()->at("linear_cross_entropy").kernel(request);
  BOOST_TEST(kernel.shared_scratch < std::size_t{80} << 20);
  check({rows, 4, classes, 0, true, DType::f32}, 2e-5);
}

BOOST_AUTO_TEST_CASE(targets_out_of_range_are_data_errors) {
  BOOST_CHECK_EXCEPTION(
      run("linear_cross_entropy",
          {Tensor::zeros(DType::f32, {2, 4}), Tensor::zeros(DType::f32, {5, 4}), Tensor(),
           Tensor::of<std::int64_t>({2}, {1, 5})}),
      DataError, [](const DataError& e) {
        return std::string(e.what()).find("targets[1] is 5, but there are 5 classes") !=
               std::string::npos;
      });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
