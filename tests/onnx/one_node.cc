#include "weft/tests/onnx/one_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "weft/testing/close.h"

namespace weft::testing {

Tensor tensor_of(DType dtype, const Sizes& sizes, const Numbers& values) {
  Tensor result = Tensor::empty(dtype, sizes);
  BOOST_REQUIRE_EQUAL(static_cast<std::size_t>(result.numel()), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Tensor element = Tensor::scalar(dtype, values[i]);
    std::memcpy(result.mutable_raw() + i * dtype_size(dtype), element.raw(), dtype_size(dtype));
  }
  return result;
}
OnnxModel read_node(const OneNode& node) {
  GraphBuilder graph;
  OnnxReadOptions options;
  std::vector<std::string> inputs, outputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor& x = node.inputs[i];
    inputs.push_back(x.defined() ? fmt::format("x{}", i) : "");
    if (!x.defined()) continue;
    if (node.constants && i > 0) {
      graph.initializer(inputs.back(), x);
      continue;
    }
    std::vector<OnnxSize> sizes(x.sizes().begin(), x.sizes().end());
    if (node.symbolic && i == 0) sizes.assign(sizes.size(), "");
    graph.input(inputs.back(), x.dtype(), sizes);
    const bool known = std::count(node.known.begin(), node.known.end(), i) > 0;
    if (known || is_integer(x.dtype()) || x.rank() == 0) options.input_values[inputs.back()] = x;
  }
  for (std::size_t i = 0; i < node.outputs; ++i) {
    outputs.push_back(fmt::format("y{}", i));
    graph.output(outputs.back());
  }
  graph.node(node.op, inputs, outputs, node.attributes);
  return read_model(graph, node.opset, options);
}

NamedTensors feeds_of(const OnnxModel& model, const OneNode& node) {
  NamedTensors feeds;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::string name = fmt::format("x{}", i);
    if (model.checkpoint.graph().find_input(name).defined()) {
      feeds.emplace_back(name, node.inputs[i]);
    }
  }
  return feeds;
}

Results run_node(const OneNode& node) {
  const OnnxModel model = read_node(node);
  return run_model(model, feeds_of(model, node));
}

void check_example(Example example) {
  example.node.outputs = example.expected.size();
  BOOST_TEST_CONTEXT(example.node.op << " of opset " << example.node.opset) {
    const Results results = run_node(example.node);
    for (std::size_t i = 0; i < example.expected.size(); ++i) {
      const Tensor& expected = example.expected[i];
      const Tensor actual = results[fmt::format("y{}", i)];
      BOOST_TEST(dtype_name(actual.dtype()) == dtype_name(expected.dtype()));
      if (!is_floating(expected.dtype())) {
        BOOST_TEST(bitwise_equal(actual, expected));
        continue;
      }
      const double least = expected.dtype() == DType::f64 ? 1e-15 : 1e-7;
      BOOST_TEST(expect_close(actual, expected,
                              {.absolute = least,
                               .ulps = dtype_size(expected.dtype()) > 2 ? 16.0 : 1.0,
                               .nan_is_close_to_nan = true}));
    }
  }
}

}  // namespace weft::testing
