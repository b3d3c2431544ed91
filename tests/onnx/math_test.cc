// Reductions, norms, products, losses and signal processing: cases that the backend tests lack.
// Expected values were computed with NumPy in double precision.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numbers>

#include "weft/core/error.h"
#include "weft/testing/close.h"
#include "weft/testing/random_tensors.h"
#include "weft/tests/onnx/one_node.h"

namespace weft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)
using Integers = std::vector<std::int64_t>;
using onnx_proto::Attribute;

BOOST_AUTO_TEST_SUITE(onnx_math)

BOOST_AUTO_TEST_CASE(reductions_of_all_opsets_and_dtypes) {
  const Tensor x = f32({2, 3}, {1, -2, 3, -4, 5, 6}), none = i64({0}, {});
  const Attribute drop = attribute("keepdims", 0), noop = attribute("noop_with_empty_axes", 1);
  for (const Example& example : std::initializer_list<Example>{
           {{"ReduceSum", 11, {x}, {attribute("axes", Integers{-1}), drop}}, {f32({2}, {2, 7})}},
           {{"ReduceSum", 13, {x, i64({1}, {0})}}, {f32({1, 3}, {-3, 3, 9})}},
           {{"ReduceSum", 13, {x, none}}, {f32({1, 1}, {9})}},
           {{"ReduceSum", 13, {x}, {noop}}, {x}},
           {{"ReduceSumSquare", 18, {x, none}, {noop}}, {f32({2, 3}, {1, 4, 9, 16, 25, 36})}},
           {{"ReduceL1", 18, {x}, {noop}}, {f32({2, 3}, {1, 2, 3, 4, 5, 6})}},
           {{"ReduceMax", 18, {x, none}, {noop}}, {x}},
           {{"ReduceMean", 18, {x, i64({2}, {-1, 0})}, {drop}}, {f32({}, {1.5})}},
           {{"ReduceMean", 13, {i32({3}, {1, 2, 5})}, {drop}}, {i32({}, {2})}},
           {{"ReduceMean", 13, {f16({3}, {1, 2, 5})}, {drop}}, {f16({}, {8.0 / 3})}},
           {{"ReduceL2", 13, {i32({2}, {3, 4})}, {drop}}, {i32({}, {5})}},
           {{"ReduceL2", 13, {f64({2}, {0, 0})}, {drop}}, {f64({}, {0})}},
           {{"ReduceLogSumExp", 13, {f32({2}, {1000, 1000})}, {drop}},
            {f32({}, {1000 + std::numbers::ln2})}},
           {{"ReduceProd", 13, {i64({3}, {2, -3, 7})}, {drop}}, {i64({}, {-42})}},
           {{"ReduceMax", 20, {booleans({2, 2}, {0, 0, 1, 0}), i64({1}, {1})}, {drop}},
            {booleans({2}, {0, 1})}},
           {{"ReduceMin", 20, {booleans({2, 2}, {1, 1, 1, 0}), i64({1}, {1})}, {drop}},
            {booleans({2}, {1, 0})}},
           {{"ReduceMax", 13, {u8({2}, {3, 200})}, {drop}}, {u8({}, {200})}},
           // Reductions of nothing.
           {{"ReduceMax", 18, {f32({2, 0}, {}), i64({1}, {1})}}, {f32({2, 1}, {-kInf, -kInf})}},
           {{"ReduceMin", 18, {i8({2, 0}, {}), i64({1}, {1})}, {drop}}, {i8({2}, {127, 127})}},
           {{"ReduceLogSum", 18, {f32({0}, {})}, {drop}}, {f32({}, {-kInf})}},
           {{"ReduceProd", 18, {f32({0}, {})}, {drop}}, {f32({}, {1})}},
           {{"ArgMax",
             13,
             {f16({2, 3}, {1, 3, 3, 2, 2, 1})},
             {attribute("axis", 1), attribute("select_last_index", 1)}},
            {i64({2, 1}, {2, 1})}},
           {{"ArgMin", 11, {i32({3}, {4, 1, 1})}, {drop}}, {i64({}, {1})}},
           {{"CumSum", 14, {i64({3}, {1, 2, 3}), i32({}, {-1})}, {attribute("exclusive", 1)}},
            {i64({3}, {0, 1, 3})}},
           {{"TopK", 1, {x}, {attribute("k", 2)}},
            {f32({2, 2}, {3, 1, 6, 5}), i64({2, 2}, {2, 0, 2, 1})}},
           {{"TopK", 10, {f16({3}, {1, 3, 2}), i64({1}, {1})}}, {f16({1}, {3}), i64({1}, {1})}},
           {{"TopK",
             11,
             {i64({3}, {1, 3, 2}), i64({1}, {2})},
             {attribute("largest", 0), attribute("sorted", 0)}},
            {i64({2}, {1, 2}), i64({2}, {0, 2})}},
       }) {
    check_example(example);
  }
}

BOOST_AUTO_TEST_CASE(norms_of_all_opsets_and_dtypes) {
  const Tensor x = f32({2, 2, 2}, {1, 2, 3, 4, -1, 0, 2, 7});
  const Tensor groups = f32({1, 4, 2}, {1, 2, 3, 4, -1, 0, 2, 7});
  const Tensor batch = f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 10});
  const Numbers batch_out = {-1.2126766985040354,  -0.7276060191024212, -1.1908887694286383,
                             -0.46059251295242554, 0.7276060191024212,  1.2126766985040354,
                             1.7302962564762128,   3.921185025904851};
  for (const Example& example : std::initializer_list<Example>{
           {{"LayerNormalization", 17, {x, f32({1}, {2}), f32({2}, {1, -1})}},
            {f32({2, 2, 2},
                 {-0.9999600011999599, 0.9999600011999599, -0.9999600011999599, 0.9999600011999599,
                  -0.9999600011999599, 0.9999600011999599, -0.99999840000192, 0.99999840000192}),
             f32({2, 2, 1}, {1.5, 3.5, -0.5, 4.5}),
             f32({2, 2, 1},
                 {1.9999600011999599, 1.9999600011999599, 1.9999600011999599, 0.399999680000384})}},
           {{"LayerNormalization",
             17,
             {f16({1, 2}, {1, 3}), f16({2}, {2, 2})},
             {attribute("epsilon", 0.0)}},
            {f16({1, 2}, {-2, 2}), f32({1, 1}, {2}), f32({1, 1}, {1})}},
           {{"RMSNormalization", 23, {x, f32({2, 2}, {1, 2, 3, 4})}, {attribute("axis", 1)}},
            {f32({2, 2, 2},
                 {0.3651481282381064, 1.4605925129524255, 3.2863331541429575, 5.842370051809702,
                  -0.27216542617391765, 0, 1.6329925570435058, 7.620631932869694})}},
           {{"RMSNormalization", 23, {x, f32({1}, {2})}},
            {f32({2, 2, 2},
                 {1.264908534252813, 2.529817068505626, 1.6970555960256115, 2.2627407948008153,
                  -2.8283988408992, 0, 0.7770285432766662, 2.7195999014683316})}},
           {{"RMSNormalization",
             23,
             {f16({1, 2}, {3, 3}), f32({2}, {1, 2})},
             {attribute("epsilon", 0.0)}},
            {f32({1, 2}, {1, 2})}},
           {{"GroupNormalization",
             18,
             {groups, f32({2}, {2, 3}), f32({2}, {1, -1})},
             {attribute("num_groups", 2)}},
            {f32({1, 4, 2},
                 {-1.6832708399378538, 0.105576386687382, 1.894423613312618, 3.6832708399378538,
                  -3.9199840435204227, -2.9466560290136155, -1, 3.8666400725340386})}},
           {{"GroupNormalization",
             21,
             {groups, f32({4}, {1, 2, 3, 4}), f32({4}, {0, 1, 0, -1})},
             {attribute("num_groups", 2)}},
            {f32({1, 4, 2},
                 {-1.3416354199689269, -0.447211806656309, 1.894423613312618, 3.6832708399378538,
                  -2.9199840435204227, -1.9466560290136155, -1, 5.488853430045385})}},
           {{"BatchNormalization",
             14,
             {batch, f32({2}, {1, 2}), f32({2}, {0, 1}), f32({2}, {0, 1}), f32({2}, {1, 2})},
             {attribute("training_mode", 1)}},
            {f32({2, 2, 2}, batch_out), f32({2}, {0.35, 1.5}), f32({2}, {1.325, 2.55})}},
           {{"BatchNormalization",
             6,
             {f16({1, 1, 1, 2}, {1, 3}), f16({1}, {2}), f16({1}, {1}), f16({1}, {1}),
              f16({1}, {4})},
             {attribute("is_test", 1), attribute("epsilon", 0.0)}},
            {f16({1, 1, 1, 2}, {1, 3})}},
           {{"BatchNormalization",
             15,
             {f16({1, 1, 2}, {1, 3}), f16({1}, {2}), f16({1}, {1}), f32({1}, {1}), f32({1}, {4})},
             {attribute("epsilon", 0.0)}},
            {f16({1, 1, 2}, {1, 3})}},
           {{"InstanceNormalization",
             6,
             {f16({1, 1, 2}, {1, 3}), f16({1}, {2}), f16({1}, {1})},
             {attribute("epsilon", 0.0)}},
            {f16({1, 1, 2}, {-1, 3})}},
           // An even window has one more channel after the centre than before it.
           {{"LRN",
             13,
             {f32({1, 2, 2}, {1, 2, 3, 4})},
             {attribute("size", 2), attribute("alpha", 0.5)}},
            {f32({1, 2, 2},
                 {0.3907949713906802, 0.521694860024429, 1.2393921296689154, 1.1962790249769764})}},
           {{"MeanVarianceNormalization", 13, {x}, {attribute("axes", Integers{0, 2})}},
            {f32({2, 2, 2}, {0.4472135950999579, 1.3416407852998737, -0.5345224835391345, 0,
                             -1.3416407852998737, -0.4472135950999579, -1.069044967078269,
                             1.6035674506174034})}},
           {{"LpNormalization", 1, {f64({3, 2}, {3, 4, 0, 0, -1, 1})}},
            {f64({3, 2}, {0.6, 0.8, 0, 0, -std::numbers::sqrt2 / 2, std::numbers::sqrt2 / 2})}},
           {{"LpNormalization",
             1,
             {f64({3, 2}, {3, 4, 0, 0, -1, 1})},
             {attribute("p", 1), attribute("axis", 0)}},
            {f64({3, 2}, {0.75, 0.8, 0, 0, -0.25, 0.2})}},
       }) {
    check_example(example);
  }
}

BOOST_AUTO_TEST_CASE(products_of_all_opsets_and_dtypes) {
  const Tensor a = f32({2, 2}, {1, 2, 3, 4}), b = f32({2, 2}, {5, 6, 7, 8});
  for (const Example& example : std::initializer_list<Example>{
           {{"MatMul", 13, {f32({2}, {1, 2}), a}}, {f32({2}, {7, 10})}},
           {{"MatMul", 13, {a, f32({2}, {1, 2})}}, {f32({2}, {5, 11})}},
           {{"MatMul", 13, {f32({2}, {1, 2}), f32({2}, {3, 4})}}, {f32({}, {11})}},
           {{"MatMul", 13, {i64({2}, {1, 2}), i64({1, 2, 2}, {1, 2, 3, 4})}},
            {i64({1, 2}, {7, 10})}},
           {{"MatMul", 9, {i32({2, 2}, {1, 2, 3, 4}), i32({2}, {1, -1})}}, {i32({2}, {-1, -1})}},
           {{"MatMul", 9, {i32({2}, {65536, 1}), i32({2}, {65536, 5})}}, {i32({}, {5})}},
           {{"MatMul", 13, {f16({1, 2}, {1, 2}), f16({2, 1}, {3, 4})}}, {f16({1, 1}, {11})}},
           {{"Gemm",
             13,
             {a, b, f32({2}, {1, 2})},
             {attribute("transA", 1), attribute("transB", 1), attribute("alpha", 2.0),
              attribute("beta", 3.0)}},
            {f32({2, 2}, {49, 68, 71, 98})}},
           {{"Gemm", 6, {a, b, f32({2, 2}, {1, 2, 3, 4})}, {attribute("broadcast", 0)}},
            {f32({2, 2}, {20, 24, 46, 54})}},
           {{"Gemm",
             13,
             {i32({1, 2}, {1, 2}), i32({1, 2}, {3, 4}), i32({}, {5})},
             {attribute("transB", 1), attribute("alpha", 2.0)}},
            {i32({1, 1}, {27})}},
           {{"Einsum",
             12,
             {i64({2, 2}, {1, 2, 3, 4}), i64({2}, {5, -6})},
             {attribute("equation", "ij,j")}},
            {i64({2}, {-7, -9})}},
           {{"Einsum", 12, {a, b}, {attribute("equation", "ij, kj -> ik")}},
            {f32({2, 2}, {17, 23, 39, 53})}},
           {{"Det", 11, {f64({3, 3}, {0, 2, 1, 1, 0, 3, 4, -1, 0})}}, {f64({}, {23})}},
           {{"Det", 11, {f32({3, 3}, {0, 1, 2, 0, 3, 4, 0, 5, 6})}}, {f32({}, {0})}},
           {{"Det", 11, {f32({2, 2, 2}, {1, 2, 2, 4, 0, 1, 1, 0})}}, {f32({2}, {0, -1})}},
       }) {
    check_example(example);
  }
}

BOOST_AUTO_TEST_CASE(losses_of_all_dtypes_and_reductions) {
  const Tensor scores = f32({2, 3}, {1, 2, 0, 0, -1, 3});
  const Numbers logarithms = {-1.40760596444438,   -0.4076059644443803, -2.40760596444438,
                              -3.0658839037574293, -4.065883903757429,  -0.06588390375742913};
  const Tensor weights = f32({3}, {1, 2, 3}), targets = i32({2}, {2, 1});
  for (const Example& example : std::initializer_list<Example>{
           {{"SoftmaxCrossEntropyLoss", 13, {scores, targets, weights}},
            {f32({}, {3.0709171401695996}), f32({2, 3}, logarithms)}},
           {{"SoftmaxCrossEntropyLoss",
             13,
             {scores, targets, weights},
             {attribute("ignore_index", 1), attribute("reduction", "none")}},
            {f32({2}, {3 * 2.40760596444438, 0})}},
           {{"SoftmaxCrossEntropyLoss",
             12,
             {scores, i64({2}, {2, -7})},
             {attribute("ignore_index", -7)}},
            {f32({}, {2.40760596444438})}},
           {{"NegativeLogLikelihoodLoss",
             13,
             {f64({1, 2, 2}, {-1, -kInf, -3, -4}), i32({1, 2}, {1, 0})},
             {attribute("ignore_index", 0), attribute("reduction", "sum")}},
            {f64({}, {3})}},
           {{"NegativeLogLikelihoodLoss", 13, {f16({2, 2}, {-1, -2, -3, -4}), i64({2}, {1, 0})}},
            {f16({}, {2.5})}},
       }) {
    check_example(example);
  }
}

BOOST_AUTO_TEST_CASE(signal_operators_of_all_opsets) {
  const Tensor real = f64({1, 6, 1}, {1, 2, 0, -1, 3, 1});
  const Tensor complex_numbers = f64({1, 3, 2}, {1, -1, 2, 3, 0, 1});
  const double root3 = std::numbers::sqrt3;
  for (const Example& example : std::initializer_list<Example>{
           {{"DFT", 17, {real}, {attribute("onesided", 1)}},
            {f64({1, 4, 2}, {6, 0, 2, root3, -3, -2 * root3, 2, 0})}},
           {{"DFT", 20, {complex_numbers, Tensor(), i64({}, {1})}, {attribute("inverse", 1)}},
            {f64({1, 3, 2}, {1, 1, -0.5773502691896257, -0.42264973081037427, 0.5773502691896257,
                             -1.5773502691896255})}},
           {{"DFT", 20, {real, i64({}, {8})}, {attribute("onesided", 1)}},  // padded
            {f64({1, 5, 2}, {6, 0, -0.5857864376269049, 0, 4, -4, -3.414213562373095, 0, 2, 0})}},
           {{"DFT", 17, {real, i64({}, {4})}},  // truncated
            {f64({1, 4, 2}, {2, 0, 1, -3, 0, 0, 1, 3})}},
           {{"DFT", 17, {f32({2, 3, 1}, {1, 2, 3, 4, 5, 7})}, {attribute("axis", 0)}},
            {f32({2, 3, 2}, {5, 0, 7, 0, 10, 0, -3, 0, -3, 0, -4, 0})}},
           {{"STFT",
             17,
             {f32({1, 5, 1}, {1, 2, 3, 4, 5}), i64({}, {2}), f32({2}, {1, 0.5}), i64({}, {2})}},
            {f32({1, 2, 2, 2}, {2, 0, 0, 0, 5, 0, 1, 0})}},
           {{"HannWindow", 17, {i64({}, {4})}, {attribute("output_datatype", 11)}},
            {f64({4}, {0, 0.5, 1, 0.5})}},
           {{"HammingWindow", 17, {i32({}, {4})}, {attribute("periodic", 0)}},
            {f32({4}, {0.08695652173913043, 0.7717391304347825, 0.7717391304347825,
                       0.08695652173913043})}},
           {{"BlackmanWindow", 17, {i32({}, {4})}, {attribute("output_datatype", 10)}},
            {f16({4}, {0, 0.34, 1, 0.34})}},
       }) {
    check_example(example);
  }
}

// Long transforms are split by factors of their length. 97 is prime.
BOOST_AUTO_TEST_CASE(long_fourier_transforms_equal_their_definition) {
  for (const std::int64_t length : {96, 97, 1000}) {
    const Tensor x = normal_tensor({1, length, 2}, 1);
    const Tensor y = run_node({"DFT", 17, {x}})["y0"];
    Numbers expected;
    for (std::int64_t k = 0; k < length; ++k) {
      double re = 0, im = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(i * k % length) /
                             static_cast<double>(length);
        re += x.at(2 * i) * std::cos(angle) - x.at(2 * i + 1) * std::sin(angle);
        im += x.at(2 * i) * std::sin(angle) + x.at(2 * i + 1) * std::cos(angle);
      }
      expected.insert(expected.end(), {re, im});
    }
    BOOST_TEST(expect_close(y, f32({1, length, 2}, expected), {.absolute = 1e-4}), length);
  }
}

BOOST_AUTO_TEST_CASE(operators_of_a_symbolic_batch) {
  const OnnxModel model = read_model(
      GraphBuilder()
          .input("x", DType::f32, {"batch", std::int64_t{2}, std::int64_t{2}})
          .initializer("zero", i64({1}, {0}))
          .node("MeanVarianceNormalization", {"x"}, {"a"}, {attribute("axes", Integers{0, 2})})
          .node("LRN", {"a"}, {"b"}, {attribute("size", 3)})
          .node("Softmax", {"b"}, {"c"})
          .node("Hardmax", {"c"}, {"d"}, {attribute("axis", 0)})
          .node("Det", {"x"}, {"e"})
          .node("ArgMax", {"x"}, {"f"}, {attribute("select_last_index", 1)})
          .node("Shape", {"x"}, {"shape"})
          .node("Gather", {"shape", "zero"}, {"k"})
          .node("TopK", {"e", "k"}, {"g", "h"}, {attribute("largest", 0)})
          .output("h")
          .output("d")
          .output("e")
          .output("f"));
  const Results results =
      run_model(model, {{"x", f32({3, 2, 2}, {1, 2, 3, 5, 4, 9, 2, 2, 3, 9, 2, 2})}});
  BOOST_TEST(expect_close(results["e"], f32({3}, {-1, -10, -12})));
  BOOST_TEST(results["f"].to_vector<std::int64_t>() == (std::vector<std::int64_t>{1, 2, 0, 0}));
  BOOST_TEST(results["h"].to_vector<std::int64_t>() == (std::vector<std::int64_t>{2, 1, 0}));
  BOOST_TEST(results["d"].sizes() == (Sizes{3, 2, 2}));
}

// Exporters give equal sizes different names, or none. The program checks that they are equal.
BOOST_AUTO_TEST_CASE(sizes_without_names_are_required_to_be_equal) {
  const OnnxModel model =
      read_model(GraphBuilder()
                     .input("x", DType::f32, {"", ""})
                     .input("y", DType::f32, {"", ""})
                     .input("targets", DType::i64, {""})
                     .initializer("s", f32({2}, {1, 2}))
                     .node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"a"})
                     .node("LayerNormalization", {"a", "s", "s"}, {"b"})
                     .node("PRelu", {"b", "s"}, {"c"})
                     .node("Gemm", {"c", "y", "s"}, {"d"}, {attribute("transB", 1)})
                     .node("SoftmaxCrossEntropyLoss", {"d", "targets"}, {"loss"})
                     .node("LogSoftmax", {"d"}, {"e"})
                     .node("NegativeLogLikelihoodLoss", {"e", "targets"}, {"same"})
                     .output("loss")
                     .output("same"));
  const auto run = [&](std::int64_t batch, std::int64_t classes) {
    return run_model(model,
                     {{"x", Tensor::full(DType::f32, {3, 2}, 2)},
                      {"y", f32({classes, 2}, Numbers(static_cast<std::size_t>(classes) * 2, 1))},
                      {"targets", Tensor::zeros(DType::i64, {batch})}});
  };
  // The two scores of a row differ by the bias of Gemm, 2 - 1.
  const Results results = run(3, 2);
  BOOST_TEST(expect_close(results["loss"], f32({}, {std::log1p(std::exp(1.0))})));
  BOOST_TEST(expect_close(results["same"], results["loss"]));
  BOOST_CHECK_THROW(run(2, 2), ShapeError);
  BOOST_CHECK_THROW(run(3, 3), ShapeError);
}

BOOST_AUTO_TEST_CASE(labels_of_einsum_are_required_to_have_equal_sizes) {
  const OnnxModel model = read_model(
      GraphBuilder()
          .input("x", DType::f32, {"", "", ""})
          .input("y", DType::f32, {std::int64_t{1}, "", ""})
          .node("Einsum", {"x", "y"}, {"z"}, {attribute("equation", "...ij,...kj->...ik")})
          .output("z"));
  const Tensor x = f32({2, 1, 2}, {1, 2, 3, 4});
  const Results results = run_model(model, {{"x", x}, {"y", f32({1, 1, 2}, {5, 6})}});
  BOOST_TEST(expect_close(results["z"], f32({2, 1, 1}, {17, 39})));
  BOOST_CHECK_THROW(run_model(model, {{"x", x}, {"y", f32({1, 2, 1}, {5, 6})}}), ShapeError);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
