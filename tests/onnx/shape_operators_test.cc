// Shapes, slices, indexing and selection: opset changes, bounds and dtypes, which the backend tests
// do not cover. Expected values were computed with ONNX Runtime 1.30.
#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/tests/onnx/one_node.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace)

BOOST_AUTO_TEST_SUITE(onnx_shape_operators)

/// Checks the example with operands that are inputs, and with operands that are initialisers.
void check_both(const Example& example) {
  check_example(example);
  Example constant = example;
  constant.node.constants = true;
  check_example(constant);
}

BOOST_AUTO_TEST_CASE(shapes_of_all_opsets) {
  for (const Example& example : std::initializer_list<Example>{
           {{"Reshape", 14, {f32({0, 3}, {}), i64({2}, {3, 0})}, {attribute("allowzero", 1)}},
            {f32({3, 0}, {})}},
           {{"Reshape",
             5,
             {f32({2, 6}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), i64({3}, {0, -1, 3})}},
            {f32({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})}},
           {{"Unsqueeze", 11, {f32({2}, {1, 2})}, {attribute("axes", Sizes{0, -1})}},
            {f32({1, 2, 1}, {1, 2})}},
           {{"Squeeze", 11, {f32({1, 2, 1}, {1, 2})}, {attribute("axes", Sizes{-1})}},
            {f32({1, 2}, {1, 2})}},
           {{"Squeeze", 13, {f32({1, 2, 1}, {1, 2}), i64({1}, {0})}}, {f32({2, 1}, {1, 2})}},
           {{"Tile", 13, {f32({2, 2}, {1, 2, 3, 4}), i64({2}, {1, 2})}},
            {f32({2, 4}, {1, 2, 1, 2, 3, 4, 3, 4})}},
           {{"Expand", 13, {f32({3, 1}, {1, 2, 3}), i64({3}, {2, 1, 2})}},
            {f32({2, 3, 2}, {1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3})}},
           {{"Expand", 13, {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({1}, {1})}},
            {f32({2, 3}, {1, 2, 3, 4, 5, 6})}},
           {{"Range", 11, {i64({}, {10}), i64({}, {1}), i64({}, {-4})}}, {i64({3}, {10, 6, 2})}},
           {{"Range", 11, {i32({}, {3}), i32({}, {1}), i32({}, {1})}}, {i32({0}, {})}},
           {{"Range", 11, {f64({}, {0.5}), f64({}, {2}), f64({}, {0.5})}},
            {f64({3}, {0.5, 1, 1.5})}},
           {{"EyeLike",
             9,
             {f32({2, 3}, {1, 2, 3, 4, 5, 6})},
             {attribute("k", 1), attribute("dtype", 7)}},
            {i64({2, 3}, {0, 1, 0, 0, 0, 1})}},
           {{"Trilu",
             14,
             {f32({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), i64({}, {-1})},
             {attribute("upper", 0)}},
            {f32({3, 3}, {0, 0, 0, 4, 0, 0, 7, 8, 0})}},
           {{"DepthToSpace",
             13,
             {f32({1, 4, 1, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
             {attribute("blocksize", 2), attribute("mode", "CRD")}},
            {f32({1, 1, 2, 4}, {1, 3, 2, 4, 5, 7, 6, 8})}},
           {{"SpaceToDepth",
             13,
             {f32({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})},
             {attribute("blocksize", 2)}},
            {f32({1, 4, 1, 2}, {1, 3, 2, 4, 5, 7, 6, 8})}},
           {{"Concat",
             13,
             {f32({2, 1}, {1, 2}), f32({2, 2}, {1, 2, 3, 4})},
             {attribute("axis", -1)}},
            {f32({2, 3}, {1, 1, 2, 2, 3, 4})}},
           {{"Flatten", 13, {f32({2, 1, 3}, {1, 2, 3, 4, 5, 6})}, {attribute("axis", -1)}},
            {f32({2, 3}, {1, 2, 3, 4, 5, 6})}},

           {{"Reshape", 1, {f32({2}, {1, 2})}, {attribute("shape", Sizes{1, -1})}},
            {f32({1, 2}, {1, 2})}},
           {{"ConstantOfShape", 9, {i64({1}, {2})}}, {f32({2}, {0, 0})}},
           {{"ConstantOfShape", 9, {i64({0}, {})}, {attribute("value", i64({1}, {7}))}},
            {i64({}, {7})}},
           {{"Concat", 1, {f16({1, 1}, {1}), f16({1, 1}, {2})}}, {f16({1, 2}, {1, 2})}},
           {{"Tile", 1, {u8({1, 2}, {1, 2}), i64({1}, {2}), i64({1}, {1})}},
            {u8({1, 4}, {1, 2, 1, 2})}},
           {{"Trilu", 14, {booleans({2, 2}, {1, 1, 1, 1})}}, {booleans({2, 2}, {1, 1, 0, 1})}},
       }) {
    check_both(example);
  }
}

BOOST_AUTO_TEST_CASE(slices_of_all_opsets) {
  for (const Example& example : std::initializer_list<Example>{
           {{"Slice",
             9,
             {f32({4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})},
             {attribute("starts", Sizes{-3, 0}), attribute("ends", Sizes{-1, 1000}),
              attribute("axes", Sizes{0, 1})}},
            {f32({2, 3}, {4, 5, 6, 7, 8, 9})}},
           {{"Slice",
             13,
             {f32({6}, {1, 2, 3, 4, 5, 6}), i64({1}, {10}), i64({1}, {-100}), i64({1}, {0}),
              i64({1}, {-2})}},
            {f32({3}, {6, 4, 2})}},
           {{"Slice",
             13,
             {f32({6}, {1, 2, 3, 4, 5, 6}), i64({1}, {-100}), i64({1}, {-1000}), i64({1}, {0}),
              i64({1}, {-1})}},
            {f32({1}, {1})}},
           {{"Slice",
             13,
             {f32({6}, {1, 2, 3, 4, 5, 6}), i64({1}, {4}), i64({1}, {1}), i64({1}, {-1}),
              i64({1}, {-1})}},
            {f32({3}, {5, 4, 3})}},
           {{"Slice",
             13,
             {f32({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), i64({2}, {1, -0x1p62}),
              i64({2}, {0x1p62, 2147483647}), i64({2}, {0, 1}), i64({2}, {2, 3})}},
            {f32({1, 2}, {6, 9})}},
           {{"Slice", 13, {f32({3}, {1, 2, 3}), i64({1}, {2}), i64({1}, {1})}}, {f32({0}, {})}},
           {{"Split", 18, {f32({5}, {1, 2, 3, 4, 5})}, {attribute("num_outputs", 3)}},
            {f32({2}, {1, 2}), f32({2}, {3, 4}), f32({1}, {5})}},
           {{"Split",
             11,
             {f32({2, 3}, {1, 2, 3, 4, 5, 6})},
             {attribute("axis", 1), attribute("split", Sizes{1, 2})}},
            {f32({2, 1}, {1, 4}), f32({2, 2}, {2, 3, 5, 6})}},
           {{"Split", 13, {f32({4, 1}, {1, 2, 3, 4})}, {attribute("axis", -2)}},
            {f32({2, 1}, {1, 2}), f32({2, 1}, {3, 4})}},
           {{"Pad",
             2,
             {f32({2, 2}, {1, 2, 3, 4})},
             {attribute("pads", Sizes{0, 1, 1, 0}), attribute("value", 9.0),
              attribute("mode", "constant")}},
            {f32({3, 3}, {9, 1, 2, 9, 3, 4, 9, 9, 9})}},
           {{"Pad",
             18,
             {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({2}, {1, -1}), f32({}, {7}), i64({1}, {-1})},
             {attribute("mode", "constant")}},
            {f32({2, 3}, {7, 1, 2, 7, 4, 5})}},
           {{"Pad",
             13,
             {i64({2}, {1, 2}), i64({2}, {1, 0}),
              Tensor::of<std::int64_t>({}, {-9007199254740993})},
             {attribute("mode", "constant")}},
            {Tensor::of<std::int64_t>({3}, {-9007199254740993, 1, 2})}},
           {{"Pad", 13, {f32({3}, {1, 2, 3}), i64({2}, {2, 1})}, {attribute("mode", "reflect")}},
            {f32({6}, {3, 2, 1, 2, 3, 2})}},
           {{"Pad", 19, {f32({3}, {1, 2, 3}), i64({2}, {4, 2})}, {attribute("mode", "wrap")}},
            {f32({9}, {3, 1, 2, 3, 1, 2, 3, 1, 2})}},
           {{"Pad", 13, {f32({3}, {1, 2, 3}), i64({2}, {1, 2})}, {attribute("mode", "edge")}},
            {f32({6}, {1, 1, 2, 3, 3, 3})}},
           {{"Pad", 13, {f32({4}, {1, 2, 3, 4}), i64({2}, {-1, 2})}, {attribute("mode", "edge")}},
            {f32({5}, {2, 3, 4, 4, 4})}},
           {{"CenterCropPad",
             18,
             {f32({4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), i64({2}, {3, 6})}},
            {f32({3, 6}, {0, 1, 2, 3, 0, 0, 0, 4, 5, 6, 0, 0, 0, 7, 8, 9, 0, 0})}},
           {{"CenterCropPad",
             18,
             {f32({2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), i64({1}, {2})},
             {attribute("axes", Sizes{-1})}},
            {f32({2, 2}, {2, 3, 7, 8})}},
           {{"ReverseSequence",
             10,
             {f32({2, 3}, {1, 2, 3, 4, 5, 6}), i64({2}, {2, 3})},
             {attribute("batch_axis", 0), attribute("time_axis", 1)}},
            {f32({2, 3}, {2, 1, 3, 6, 5, 4})}},
           {{"ReverseSequence",
             10,
             {f32({3, 2, 1}, {1, 2, 3, 4, 5, 6}), i64({2}, {3, 1})},
             {attribute("batch_axis", 1), attribute("time_axis", 0)}},
            {f32({3, 2, 1}, {5, 2, 3, 4, 1, 6})}},
           {{"Col2Im",
             18,
             {f32({1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}),
              i64({2}, {3, 3}), i64({2}, {2, 2})}},
            {f32({1, 1, 3, 3}, {1, 7, 6, 12, 34, 22, 11, 27, 16})}},
           {{"Col2Im",
             18,
             {f32({1, 4, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}),
              i64({2}, {4, 2}), i64({2}, {2, 2})},
             {attribute("strides", Sizes{2, 1}), attribute("pads", Sizes{1, 0, 0, 1}),
              attribute("dilations", Sizes{2, 1})}},
            {f32({1, 1, 4, 2}, {0, 0, 12, 34, 0, 0, 11, 27})}},

           {{"Pad", 1, {f16({2}, {1, 2})}, {attribute("paddings", Sizes{0, 1})}},
            {f16({3}, {1, 2, 0})}},
           {{"Pad", 13, {booleans({1}, {0}), i64({2}, {1, 0}), booleans({}, {1})}},
            {booleans({2}, {1, 0})}},
           {{"Split", 1, {f32({2}, {1, 2})}, {}, 2}, {f32({1}, {1}), f32({1}, {2})}},
       }) {
    check_both(example);
  }
}

BOOST_AUTO_TEST_CASE(elements_are_gathered_scattered_and_selected) {
  for (const Example& example : std::initializer_list<Example>{
           {{"Gather", 13, {f32({3}, {1, 2, 3}), i64({}, {-1})}}, {f32({}, {3})}},
           {{"Gather",
             13,
             {f32({3, 2}, {1, 2, 3, 4, 5, 6}), i32({2}, {-1, 0})},
             {attribute("axis", 0)}},
            {f32({2, 2}, {5, 6, 1, 2})}},
           {{"GatherElements",
             13,
             {f32({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), i64({1, 2}, {2, -3})},
             {attribute("axis", 0)}},
            {f32({1, 2}, {7, 2})}},
           {{"GatherND",
             13,
             {f32({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), i64({2, 1, 1}, {-1, 0})},
             {attribute("batch_dims", 1)}},
            {f32({2, 1, 2}, {3, 4, 5, 6})}},
           {{"GatherND", 11, {f32({2, 2}, {1, 2, 3, 4}), i64({2, 2}, {0, 1, -1, -2})}},
            {f32({2}, {2, 3})}},
           {{"ScatterElements",
             18,
             {f32({3, 2}, {1, 2, 3, 4, 5, 6}), i64({2, 2}, {0, 2, -2, 1}),
              f32({2, 2}, {-4, 5, 6, 3})},
             {attribute("axis", 0), attribute("reduction", "none")}},
            {f32({3, 2}, {-4, 2, 6, 3, 5, 5})}},
           {{"ScatterND",
             18,
             {f32({3, 2}, {1, 2, 3, 4, 5, 6}), i64({3, 1}, {2, 0, -2}),
              f32({3, 2}, {5, -1, 0, 7, 2, 3})},
             {attribute("reduction", "none")}},
            {f32({3, 2}, {0, 7, 2, 3, 5, -1})}},
           {{"ScatterElements",
             18,
             {f32({3, 2}, {1, 2, 3, 4, 5, 6}), i64({2, 2}, {0, 2, -3, 1}),
              f32({2, 2}, {-4, 5, 6, 3})},
             {attribute("axis", 0), attribute("reduction", "add")}},
            {f32({3, 2}, {3, 2, 3, 7, 5, 11})}},
           {{"ScatterND",
             18,
             {f32({3, 2}, {1, 2, 3, 4, 5, 6}), i64({3, 1}, {2, 0, -1}),
              f32({3, 2}, {5, -1, 0, 7, 2, 3})},
             {attribute("reduction", "add")}},
            {f32({3, 2}, {1, 9, 3, 4, 12, 8})}},
           {{"ScatterElements",
             18,
             {f32({3, 2}, {1, 2, 3, 4, 5, 6}), i64({2, 2}, {0, 2, -3, 1}),
              f32({2, 2}, {-4, 5, 6, 3})},
             {attribute("axis", 0), attribute("reduction", "mul")}},
            {f32({3, 2}, {-24, 2, 3, 12, 5, 30})}},
           {{"ScatterND",
             18,
             {f32({3, 2}, {1, 2, 3, 4, 5, 6}), i64({3, 1}, {2, 0, -1}),
              f32({3, 2}, {5, -1, 0, 7, 2, 3})},
             {attribute("reduction", "mul")}},
            {f32({3, 2}, {0, 14, 3, 4, 50, -18})}},
           {{"ScatterElements",
             18,
             {f32({3, 2}, {1, 2, 3, 4, 5, 6}), i64({2, 2}, {0, 2, -3, 1}),
              f32({2, 2}, {-4, 5, 6, 3})},
             {attribute("axis", 0), attribute("reduction", "max")}},
            {f32({3, 2}, {6, 2, 3, 4, 5, 6})}},
           {{"ScatterND",
             18,
             {f32({3, 2}, {1, 2, 3, 4, 5, 6}), i64({3, 1}, {2, 0, -1}),
              f32({3, 2}, {5, -1, 0, 7, 2, 3})},
             {attribute("reduction", "max")}},
            {f32({3, 2}, {1, 7, 3, 4, 5, 6})}},
           {{"ScatterElements",
             18,
             {f32({3, 2}, {1, 2, 3, 4, 5, 6}), i64({2, 2}, {0, 2, -3, 1}),
              f32({2, 2}, {-4, 5, 6, 3})},
             {attribute("axis", 0), attribute("reduction", "min")}},
            {f32({3, 2}, {-4, 2, 3, 3, 5, 5})}},
           {{"ScatterND",
             18,
             {f32({3, 2}, {1, 2, 3, 4, 5, 6}), i64({3, 1}, {2, 0, -1}),
              f32({3, 2}, {5, -1, 0, 7, 2, 3})},
             {attribute("reduction", "min")}},
            {f32({3, 2}, {0, 2, 3, 4, 2, -1})}},
           {{"ScatterND", 11, {booleans({3}, {1, 0, 0}), i64({1, 1}, {1}), booleans({1}, {1})}},
            {booleans({3}, {1, 1, 0})}},
           {{"OneHot",
             11,
             {i64({3}, {0, -1, 7}), i64({1}, {3}), f32({2}, {2, 9})},
             {attribute("axis", 0)}},
            {f32({3, 3}, {9, 2, 2, 2, 2, 2, 2, 9, 2})}},
           {{"TfIdfVectorizer",
             9,
             {i64({2, 5}, {1, 2, 3, 1, 2, 2, 2, 2, 7, 1})},
             {attribute("mode", "IDF"), attribute("min_gram_length", 1),
              attribute("max_gram_length", 2), attribute("max_skip_count", 1),
              attribute("ngram_counts", Sizes{0, 2}), attribute("ngram_indexes", Sizes{2, 0, 1}),
              attribute("pool_int64s", Sizes{1, 2, 2, 2}),
              attribute("weights", Numbers{2.0, 3.0, 0.5})}},
            {f32({2, 3}, {3, 0, 2, 3, 0.5, 2})}},
           {{"TfIdfVectorizer",
             9,
             {i64({5}, {1, 2, 3, 1, 2})},
             {attribute("mode", "TFIDF"), attribute("min_gram_length", 2),
              attribute("max_gram_length", 2), attribute("max_skip_count", 2),
              attribute("ngram_counts", Sizes{0, 1}), attribute("ngram_indexes", Sizes{2, 0}),
              attribute("pool_int64s", Sizes{1, 1, 2}), attribute("weights", Numbers{2.0, 3.0})}},
            {f32({3}, {6, 0, 0})}},
           {{"Compress",
             11,
             {f32({2, 3}, {1, 2, 3, 4, 5, 6}), booleans({3}, {0, 1, 1})},
             {attribute("axis", -1)},
             1,
             {1}},
            {f32({2, 2}, {2, 3, 5, 6})}},
           {{"NonZero", 13, {i64({2, 2}, {1, 0, 0, 3})}}, {i64({2, 2}, {0, 1, 0, 1})}},
           {{"Unique", 11, {i64({5}, {2, 1, 1, 3, 2})}, {attribute("sorted", 0)}},
            {i64({3}, {2, 1, 3}), i64({3}, {0, 1, 3}), i64({5}, {0, 1, 1, 2, 0}),
             i64({3}, {2, 2, 1})}},
           {{"Unique", 11, {i64({3, 2}, {1, 0, 2, 5, 1, 0})}, {attribute("axis", 0)}},
            {i64({2, 2}, {1, 0, 2, 5}), i64({2}, {0, 1}), i64({3}, {0, 1, 0}), i64({2}, {2, 1})}},

           {{"ScatterND",
             18,
             {f32({3}, {1, 2, 3}), i64({6, 1}, {2, 0, 2, 2, 2, 2}),
              f32({6}, {2, 5, 3, 0.5, -1, 4})},
             {attribute("reduction", "mul")}},
            {f32({3}, {5, 2, -36})}},
           {{"TfIdfVectorizer",
             9,
             {i64({5}, {1, 2, 3, 1, 2})},
             {attribute("mode", "TFIDF"), attribute("min_gram_length", 1),
              attribute("max_gram_length", 2), attribute("max_skip_count", 2),
              attribute("ngram_counts", Sizes{0, 1}), attribute("ngram_indexes", Sizes{2, 0}),
              attribute("pool_int64s", Sizes{1, 1, 2}), attribute("weights", Numbers{2.0, 3.0})}},
            {f32({3}, {6, 0, 4})}},
           {{"ScatterElements",
             18,
             {f16({2}, {1, 2}), i64({1}, {1}), f16({1}, {0.5})},
             {attribute("reduction", "mul")}},
            {f16({2}, {1, 1})}},
           // The last update wins, as in ONNX Runtime.
           {{"ScatterND", 16, {i32({2}, {1, 2}), i64({3, 1}, {1, 1, 0}), i32({3}, {7, 8, 9})}},
            {i32({2}, {9, 8})}},
           {{"OneHot", 9, {f32({2}, {1, -1}), f32({}, {2}), booleans({2}, {1, 0})}},
            {booleans({2, 2}, {1, 0, 1, 0})}},
           {{"Compress", 9, {f32({2, 2}, {1, 2, 3, 4}), booleans({3}, {0, 1, 1})}, {}, 1, {1}},
            {f32({2}, {2, 3})}},
           {{"Unique", 11, {f16({3}, {2, 1, 2})}, {}, 1, {0}}, {f16({2}, {1, 2})}},
       }) {
    check_both(example);
  }
}

// Indices that are not known when the file is read.
BOOST_AUTO_TEST_CASE(an_index_out_of_range_is_a_data_error) {
  struct Bad {
    const char* op;
    Sizes index;
    Numbers elements;
    std::vector<onnx_proto::Attribute> attributes = {};
    const char* message;
  };
  for (const Bad& bad : std::initializer_list<Bad>{
           {"Gather", {1}, {2}, {}, "index 2 at position 0 is out of range"},
           {"Gather", {1}, {-3}, {}, "index -1 at position 0 is out of range"},
           {"GatherElements", {1, 3}, {0, 1, 2}, {}, "index 2 at position 2 is out of range"},
           // In the range of the elements of the tensor, but not of the row.
           {"GatherND", {1, 2}, {0, 4}, {}, "index 4 at position 0 is out of range"},
           {"ScatterND", {1, 2}, {0, 4}, {}, "index 4 at position 0 is out of range"},
           {"ScatterElements", {1, 1}, {3}, {attribute("axis", 1)}, "index 3 at position 0"},
           {"ReverseSequence",
            {2},
            {1, 4},
            {attribute("batch_axis", 0), attribute("time_axis", 1)},
            "index 3 at position 3 is out of range"},
       }) {
    BOOST_TEST_CONTEXT(bad.op) {
      GraphBuilder graph;
      graph.input("x", DType::f32, {std::int64_t{2}, std::int64_t{3}})
          .input("index", DType::i64, {bad.index.begin(), bad.index.end()})
          .output("y");
      std::vector<std::string> inputs{"x", "index"};
      if (std::string(bad.op).starts_with("Scatter")) {
        const std::vector<OnnxSize> sizes(bad.op == std::string("ScatterND") ? 1U : 2U,
                                          std::int64_t{1});
        graph.input("updates", DType::f32, sizes);
        inputs.emplace_back("updates");
      }
      const OnnxModel model = read_model(graph.node(bad.op, inputs, {"y"}, bad.attributes), 18);
      NamedTensors feeds{{"x", f32({2, 3}, {1, 2, 3, 4, 5, 6})},
                         {"index", i64(bad.index, bad.elements)}};
      if (inputs.size() == 3)
        feeds.emplace_back("updates",
                           f32(bad.op == std::string("ScatterND") ? Sizes{1} : Sizes{1, 1}, {1}));
      check_error<DataError>([&] { run_model(model, feeds); }, {bad.message});
    }
  }
}

BOOST_AUTO_TEST_CASE(impossible_shapes_are_rejected_by_name) {
  struct Rejected {
    OneNode node;
    const char* message;
  };
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6}), row = f32({3}, {1, 2, 3});
  for (
      const Rejected& rejected : std::initializer_list<Rejected>{
          {{"Reshape", 14, {x, i64({3}, {2, 3, 0})}},
           "size 2 of the new shape is 0, which copies the size of an axis, but the operand f32[2, "
           "3] has only 2 axes"},
          {{"Reshape", 14, {x, i64({2}, {-1, -1})}}, "more than one size of the new shape is -1"},
          {{"Reshape", 14, {x, i64({2}, {-1, 4})}}, "6 elements cannot be arranged in rows of 4"},
          {{"Reshape", 14, {x, i64({2}, {-1, 0})}, {attribute("allowzero", 1)}},
           "the size -1 cannot be inferred, because another size is 0"},
          {{"Reshape", 13, {x, i64({1}, {6})}, {attribute("allowzero", 1)}}, "allowzero"},
          {{"Squeeze", 13, {x, i64({1}, {0})}}, "axis 0 of f32[2, 3] does not have size 1"},
          {{"Unsqueeze", 13, {x, i64({2}, {0, -4})}}, "axis -4 is given twice"},
          {{"Transpose", 13, {x}, {attribute("perm", Sizes{0, 2})}}, "axis"},
          {{"Slice", 13, {x, i64({1}, {0}), i64({1}, {1}), i64({1}, {0}), i64({1}, {0})}},
           "a step is 0"},
          {{"Slice", 13, {x, i64({1}, {0}), i64({2}, {1, 1})}},
           "there are 1 starts, 2 ends, 1 axes and 1 steps"},
          {{"Split", 13, {x, i64({2}, {1, 1})}, {}, 3}, "there are 2 parts, but 3 outputs"},
          {{"Pad", 18, {x, i64({4}, {1, 1, 1, 1})}, {attribute("mode", "wrap")}},
           "Pad with mode 'wrap' is not supported"},
          {{"Pad", 13, {x, i64({2}, {1, 1})}}, "there are 2 numbers of pads for 2 axes"},
          {{"Range", 11, {i64({}, {0}), i64({}, {3}), i64({}, {0})}}, "the step of the range is 0"},
          {{"Range", 11, {f32({}, {0}), f32({}, {3}), f32({}, {0})}}, "has no end"},
          {{"DepthToSpace", 13, {x}, {attribute("blocksize", 2)}}, "[N, C, H, W]"},
          {{"DepthToSpace",
            13,
            {f32({1, 4, 1, 1}, {1, 2, 3, 4})},
            {attribute("blocksize", 2), attribute("mode", "ROW")}},
           "DepthToSpace with mode 'ROW' is not supported"},
          {{"Col2Im", 18, {f32({1, 4, 1}, {1, 2, 3, 4}), i64({2}, {1, 1}), i64({2}, {2, 2})}},
           "block [2, 2] does not fit image [1, 1]"},
          {{"GatherND", 12, {x, i64({1, 3}, {0, 0, 0})}}, "do not fit the operand f32[2, 3]"},
          {{"ScatterND",
            18,
            {row, i64({1, 1}, {0}), f32({1}, {1})},
            {attribute("reduction", "mean")}},
           "ScatterND with reduction 'mean' is not supported"},
          {{"ScatterElements", 18, {x, i64({1, 4}, {0, 0, 0, 0}), f32({1, 4}, {1, 1, 1, 1})}},
           "indices i64[1, 4] do not fit the operand f32[2, 3] along all axes except 0"},
          {{"NonZero", 13, {row}}, "x0"},
          {{"Compress", 11, {row, booleans({3}, {1, 0, 1})}}, "x1"},
          {{"TfIdfVectorizer",
            9,
            {i64({1}, {1})},
            {attribute("pool_int64s", Sizes{1, 2, 3}), attribute("ngram_counts", Sizes{0, 2}),
             attribute("ngram_indexes", Sizes{0, 1}), attribute("min_gram_length", 1),
             attribute("max_gram_length", 2), attribute("max_skip_count", 0)}},
           "ngram_counts does not divide the pool into 2-grams"},
      }) {
    BOOST_TEST_CONTEXT(rejected.node.op << ": " << rejected.message) {
      check_error<Error>([&] { read_node(rejected.node); }, {rejected.message, rejected.node.op});
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
