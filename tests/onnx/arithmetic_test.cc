// Elementwise operators: opset changes, dtypes and accuracy, which the backend tests do not cover.
// Expected values were computed with NumPy in double precision.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/testing/close.h"
#include "weft/tests/onnx/one_node.h"

namespace weft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

BOOST_AUTO_TEST_SUITE(onnx_arithmetic)

BOOST_AUTO_TEST_CASE(arithmetic_of_all_opsets_and_dtypes) {
  const Tensor sixteen = f16({2}, {1.5, -2});
  for (const Example& example : std::initializer_list<Example>{
           // Operands of opset 6 broadcast from an axis on.
           {{"Add",
             6,
             {f32({1, 2, 2}, {1, 2, 3, 4}), f32({2}, {10, 20})},
             {attribute("broadcast", 1), attribute("axis", 1)}},
            {f32({1, 2, 2}, {11, 12, 23, 24})}},
           {{"Sub",
             6,
             {f32({2, 2}, {1, 2, 3, 4}), f32({2}, {10, 20})},
             {attribute("broadcast", 1)}},
            {f32({2, 2}, {-9, -18, -7, -16})}},
           {{"Pow",
             6,
             {f32({2, 2}, {1, 2, 3, 4}), f32({2}, {2, 1})},
             {attribute("broadcast", 1), attribute("axis", 0)}},
            {f32({2, 2}, {1, 4, 3, 4})}},
           {{"Add", 13, {sixteen, f16({}, {0.5})}}, {f16({2}, {2, -1.5})}},
           {{"Mul", 13, {bf16({2}, {1.5, -2}), bf16({2}, {3, 3})}}, {bf16({2}, {4.5, -6})}},
           {{"Div", 13, {i32({4}, {7, -7, 7, -7}), i32({4}, {2, 2, -2, -2})}},
            {i32({4}, {3, -3, -3, 3})}},
           {{"Add", 14, {u8({2}, {250, 3}), u8({1}, {10})}}, {u8({2}, {4, 13})}},
           {{"Pow", 13, {f64({2}, {3, -2}), i64({}, {2})}}, {f64({2}, {9, 4})}},
           {{"Pow", 13, {f16({2}, {3, -2}), f32({}, {3})}}, {f16({2}, {27, -8})}},
           {{"Pow", 15, {i32({2}, {9, 4}), f32({}, {0.5})}}, {i32({2}, {3, 2})}},
           {{"Mod", 13, {i8({4}, {7, -7, 7, -7}), i8({4}, {3, 3, -3, -3})}},
            {i8({4}, {1, 2, -2, -1})}},
           {{"Mod", 13, {i8({4}, {7, -7, 7, -7}), i8({4}, {3, 3, -3, -3})}, {attribute("fmod", 1)}},
            {i8({4}, {1, -1, 1, -1})}},
           {{"Mod",
             13,
             {f64({6}, {1e6, -1e6, 0.3, 7.25, -7.25, 5}), f64({6}, {0.1, 0.1, 0.1, kInf, -3, 0.7})},
             {attribute("fmod", 1)}},
            {f64({6}, {std::fmod(1e6, 0.1), std::fmod(-1e6, 0.1), std::fmod(0.3, 0.1), 7.25, -1.25,
                       std::fmod(5, 0.7)})}},
           {{"Max", 13, {f32({3}, {1, kNan, 3}), f32({1}, {2}), f32({}, {-1})}},
            {f32({3}, {2, kNan, 3})}},
           {{"Min", 13, {u8({2}, {1, 200}), u8({2}, {3, 100})}}, {u8({2}, {1, 100})}},
           {{"Sum", 13, {sixteen, sixteen, sixteen}}, {f16({2}, {4.5, -6})}},
           {{"Mean", 13, {f64({2}, {1, 2}), f64({1}, {2}), f64({}, {4})}},
            {f64({2}, {7.0 / 3, 8.0 / 3})}},
           {{"Equal", 13, {f16({2}, {1, 2}), f16({1}, {2})}}, {booleans({2}, {0, 1})}},
           {{"GreaterOrEqual", 16, {bf16({2}, {1, 2}), bf16({1}, {2})}}, {booleans({2}, {0, 1})}},
           {{"Where", 16, {booleans({2, 1}, {1, 0}), u8({2}, {1, 2}), u8({}, {9})}},
            {u8({2, 2}, {1, 2, 9, 9})}},
           {{"IsInf", 20, {f16({3}, {kInf, -kInf, 1})}}, {booleans({3}, {1, 1, 0})}},
           {{"IsInf",
             10,
             {f32({3}, {kInf, -kInf, 1})},
             {attribute("detect_positive", 0), attribute("detect_negative", 0)}},
            {booleans({3}, {0, 0, 0})}},
           {{"IsNaN", 13, {f16({2}, {kNan, 1})}}, {booleans({2}, {1, 0})}},
           {{"Clip", 6, {f32({3}, {-2, 0, 2})}, {attribute("max", 1.0)}}, {f32({3}, {-2, 0, 1})}},
           {{"Clip", 13, {i64({3}, {-2, 0, 2}), Tensor(), i64({}, {1})}}, {i64({3}, {-2, 0, 1})}},
           {{"Clip", 13, {f16({3}, {-2, 0, 2}), f16({}, {1}), f16({}, {-1})}},  // crossing bounds
            {f16({3}, {-1, -1, -1})}},
           {{"BitwiseAnd", 18, {i64({4}, {-1, 12, -128, 127}), i64({4}, {5, -6, -128, 85})}},
            {i64({4}, {5, 8, -128, 85})}},
           {{"BitwiseOr", 18, {i32({4}, {-1, 12, -128, 2}), i32({4}, {5, -6, 3, 85})}},
            {i32({4}, {-1, -2, -125, 87})}},
           {{"BitwiseXor", 18, {u8({3}, {255, 12, 200}), u8({1}, {170})}},
            {u8({3}, {85, 166, 98})}},
           {{"BitwiseNot", 18, {u8({2}, {0, 200})}}, {u8({2}, {255, 55})}},
           {{"BitwiseNot", 18, {i8({2}, {0, -128})}}, {i8({2}, {-1, 127})}},
           {{"BitShift",
             11,
             {u8({3}, {255, 3, 1}), u8({3}, {4, 9, 7})},
             {attribute("direction", "LEFT")}},
            {u8({3}, {240, 0, 128})}},
           {{"BitShift",
             11,
             {u8({3}, {255, 3, 128}), u8({3}, {4, 9, 7})},
             {attribute("direction", "RIGHT")}},
            {u8({3}, {15, 0, 1})}},
           {{"Cast", 13, {f64({3}, {1.75, -1.75, 0})}, {attribute("to", 9)}},
            {booleans({3}, {1, 1, 0})}},
           {{"Cast", 19, {f32({2}, {2.9, -2.9})}, {attribute("to", 3), attribute("saturate", 1)}},
            {i8({2}, {2, -2})}},
           {{"CastLike", 15, {i64({2}, {3, -3}), bf16({}, {1})}}, {bf16({2}, {3, -3})}},
       }) {
    check_example(example);
  }
}

BOOST_AUTO_TEST_CASE(functions_of_all_opsets_and_dtypes) {
  const Numbers x = {-1.5, -0.5, 0.25, 2.0};
  const Tensor cube = f32({2, 2, 2}, {0, 1, 2, 3, 1, 0, 2, 5});
  for (const Example& example : std::initializer_list<Example>{
           {{"Gelu", 20, {f64({4}, x)}},
            {f64({4}, {-0.10021080190328713, -0.15426876936299344, 0.14967658142073093,
                       1.9544997361036416})}},
           {{"Gelu", 20, {f64({4}, x)}, {attribute("approximate", "tanh")}},
            {f64({4}, {-0.10042842301976707, -0.15428599017485606, 0.149675350701685,
                       1.954597694087775})}},
           {{"Mish", 18, {f64({4}, x)}},
            {f64({4}, {-0.29809974216680674, -0.22074377465173, 0.1695724096638176,
                       1.9439589595339946})}},
           {{"Celu", 12, {f32({4}, x)}, {attribute("alpha", 2.0)}},
            {f32({4}, {-1.0552668945179706, -0.44239843385719024, 0.25, 2})}},
           {{"Sigmoid", 13, {f16({2}, {0, 100})}}, {f16({2}, {0.5, 1})}},
           {{"Sqrt", 13, {bf16({2}, {4, 2.25})}}, {bf16({2}, {2, 1.5})}},
           {{"Abs", 13, {i8({2}, {-3, 3})}}, {i8({2}, {3, 3})}},
           {{"Neg", 13, {i64({2}, {-3, 3})}}, {i64({2}, {3, -3})}},
           {{"Sign", 13, {i32({3}, {-3, 0, 3})}}, {i32({3}, {-1, 0, 1})}},
           {{"Round", 11, {f64({4}, {0.5, 1.5, -2.5, 2.6})}}, {f64({4}, {0, 2, -2, 3})}},
           {{"Relu", 14, {i32({2}, {-3, 3})}}, {i32({2}, {0, 3})}},
           {{"Shrink",
             9,
             {i32({4}, {-5, -1, 1, 5})},
             {attribute("lambd", 2.0), attribute("bias", 1.0)}},
            {i32({4}, {-4, 0, 0, 4})}},
           // Before opset 7, the slope belongs to axis 1.
           {{"PRelu", 6, {f32({1, 2, 2}, {-1, 1, -1, -2}), f32({2}, {2, 3})}},
            {f32({1, 2, 2}, {-2, 1, -3, -6})}},
           {{"PRelu", 16, {f32({1, 2, 2}, {-1, 1, -1, -2}), f32({2}, {2, 3})}},
            {f32({1, 2, 2}, {-2, 1, -2, -6})}},
           // Before opset 13, the axes from `axis` on are one axis.
           {{"Softmax", 11, {cube}, {attribute("axis", 1)}},
            {f32({2, 2, 2}, {0.03205860328008498, 0.08714431874203256, 0.23688281808991016,
                             0.6439142598879724, 0.017040329481598903, 0.006268786887067858,
                             0.04632041798078524, 0.9303704656505479})}},
           {{"Softmax", 13, {cube}, {attribute("axis", 1)}},
            {f32({2, 2, 2}, {0.11920292202211755, 0.11920292202211755, 0.8807970779778825,
                             0.8807970779778825, 0.26894142136999516, 0.006692850924284856,
                             0.7310585786300049, 0.9933071490757153})}},
           {{"LogSoftmax", 6, {cube}, {attribute("axis", 0)}},
            {f32({2, 2, 2}, {-5.250771630129957, -4.250771630129957, -3.250771630129958,
                             -2.250771630129958, -4.250771630129957, -5.250771630129957,
                             -3.250771630129958, -0.2507716301299577})}},
           {{"Hardmax", 11, {cube}, {attribute("axis", 1)}},
            {f32({2, 2, 2}, {0, 0, 0, 1, 0, 0, 0, 1})}},
           {{"Hardmax", 13, {f16({2, 2}, {1, 1, 0, 2})}}, {f16({2, 2}, {1, 0, 0, 1})}},
       }) {
    check_example(example);
  }
}

// Functions that are composed of others have errors of a few ULP on their whole domain.
BOOST_AUTO_TEST_CASE(composed_functions_are_accurate_in_f32_and_f64) {
  struct Function {
    const char* op;
    double (*reference)(double);
    double low, high;
    Numbers special;
  };
  const double largest = 0x1.fffffep127;
  for (const Function& function : std::initializer_list<Function>{
           {"Atan", std::atan, -20, 20, {0, 1, -1, 1e-30, -1e-10, 1e30, -kInf, kInf, kNan}},
           {"Asin", std::asin, -1, 1, {1e-30, -1, 1, 1.5, kNan}},
           {"Acos", std::acos, -1, 1, {1, -1, 0, -1.5}},
           {"Tan", std::tan, -1.5, 1.5, {1e-30}},
           {"Sinh", std::sinh, -20, 20, {1e-30, -1e-5, 89.2, -89.2, kInf}},
           {"Cosh", std::cosh, -20, 20, {0, 89.2, -89.2, -kInf}},
           {"Asinh", std::asinh, -20, 20, {1e-30, -1e-5, 1e15, largest, -kInf}},
           {"Acosh", std::acosh, 1, 20, {1, 1e15, largest, kInf, 0.5}},
           {"Atanh", std::atanh, -0.999, 0.999, {1e-30, 1, -1, 2}},
       }) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      Numbers points = function.special;
      for (int i = 0; i <= 500; ++i) {
        points.push_back(function.low + (function.high - function.low) * i / 500);
      }
      const Sizes sizes = {static_cast<std::int64_t>(points.size())};
      const Tensor x = tensor_of(dtype, sizes, points);
      Numbers expected;
      for (std::int64_t i = 0; i < x.numel(); ++i) expected.push_back(function.reference(x.at(i)));
      BOOST_TEST_CONTEXT(function.op << " of " << dtype_name(dtype)) {
        const Tensor y = run_node({function.op, 9, {x}})["y0"];
        BOOST_TEST(expect_close(y, tensor_of(dtype, sizes, expected),
                                {.ulps = 4, .nan_is_close_to_nan = true}));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(exponents_2_and_3_are_settings_and_others_are_trained) {
  const OnnxModel model = read_model(GraphBuilder()
                                         .input("x", DType::f32, {std::int64_t{2}})
                                         .initializer("two", f32({1}, {2}))
                                         .initializer("three", f32({1}, {3}))
                                         .initializer("p", f32({1}, {1.5}))
                                         .node("Pow", {"x", "two"}, {"a"})
                                         .node("Pow", {"x", "three"}, {"b"})
                                         .node("Pow", {"x", "p"}, {"c"})
                                         .output("a")
                                         .output("b")
                                         .output("c"));
  BOOST_REQUIRE_EQUAL(model.checkpoint.graph().variables().size(), 1);
  BOOST_TEST(model.checkpoint.graph().parameters().at(0).name() == "p");
  const Results results = run_model(model, {{"x", f32({2}, {4, 9})}});
  BOOST_TEST(results["a"].to_vector<float>() == (std::vector<float>{16, 81}));
  BOOST_TEST(results["b"].to_vector<float>() == (std::vector<float>{64, 729}));
  BOOST_TEST(expect_close(results["c"], f32({2}, {8, 27})));
}

// A graph can compute with sizes that are not known when the file is read.
BOOST_AUTO_TEST_CASE(integer_arithmetic_on_symbolic_sizes_determines_shapes) {
  const OnnxModel model =
      read_model(GraphBuilder()
                     .input("x", DType::f32, {"batch", "length", std::int64_t{4}})
                     .initializer("two", i64({1}, {2}))
                     .initializer("axis", i64({}, {0}))
                     .node("Shape", {"x"}, {"shape"})
                     .node("Gather", {"shape", "axis"}, {"rows"})
                     .node("Mul", {"rows", "two"}, {"doubled"})
                     .node("Sub", {"doubled", "rows"}, {"same"})
                     .node("Add", {"same", "doubled"}, {"three"})
                     .node("Div", {"three", "rows"}, {"factor"})
                     .node("Mul", {"factor", "rows"}, {"product"})
                     .node("ConstantOfShape", {"product"}, {"zeros"})
                     .output("zeros"));
  BOOST_TEST(model.checkpoint.graph().find_named("zeros").type().str() == "f32[3*batch]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
