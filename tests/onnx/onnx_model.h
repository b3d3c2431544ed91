// Small ONNX models, built in tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/graph/engine/results.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft_proto/onnx.pb.h"

namespace weft::testing {

/// Returns a tensor as a message, with raw data.
onnx_proto::Tensor tensor_message(const Tensor& tensor, std::string_view name = {});
/// Returns the declaration of a tensor. A size is a number or the name of a symbol; "" is a size
/// without a name.
using OnnxSize = std::variant<std::int64_t, std::string>;
onnx_proto::Value value_message(std::string_view name, DType dtype,
                                const std::vector<OnnxSize>& sizes);

// Attributes: the type of the value determines the type of the attribute.
onnx_proto::Attribute attribute(std::string_view name, std::int64_t value);
inline onnx_proto::Attribute attribute(std::string_view name, int value) {
  return attribute(name, std::int64_t{value});
}
onnx_proto::Attribute attribute(std::string_view name, double value);
onnx_proto::Attribute attribute(std::string_view name, const char* value);
onnx_proto::Attribute attribute(std::string_view name, const std::vector<std::int64_t>& values);
onnx_proto::Attribute attribute(std::string_view name, const std::vector<double>& values);
onnx_proto::Attribute attribute(std::string_view name, const Tensor& value);
onnx_proto::Attribute attribute(std::string_view name, const onnx_proto::Graph& value);

/// Builds the graph of a model, or the body of a loop or branch.
struct GraphBuilder {
  onnx_proto::Graph graph = {};

  GraphBuilder& input(std::string_view name, DType dtype, const std::vector<OnnxSize>& sizes);
  GraphBuilder& initializer(std::string_view name, const Tensor& value);
  GraphBuilder& node(std::string_view op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs,
                     const std::vector<onnx_proto::Attribute>& attributes = {},
                     std::string_view domain = {});
  /// The declared type of an output is not used by the import.
  GraphBuilder& output(std::string_view name);
};

/// Returns a model with opset `opset` of the default domain and version 1 of com.microsoft and
/// ai.onnx.preview.training.
onnx_proto::Model onnx_model(const GraphBuilder& graph, std::int64_t opset = 17);
/// Writes the model to the temporary file "model.onnx" and reads it.
OnnxModel read_model(const onnx_proto::Model& model, const OnnxReadOptions& options = {});
inline OnnxModel read_model(const GraphBuilder& graph, std::int64_t opset = 17,
                            const OnnxReadOptions& options = {}) {
  return read_model(onnx_model(graph, opset), options);
}
/// Runs the program of a model.
Results run_model(const OnnxModel& model, const NamedTensors& feeds);

}  // namespace weft::testing
