// What all graphs of one ONNX file share while it is read.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "weft/serialization/onnx/import/known_values.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/serialization/onnx/tensors.h"
#include "weft_proto/onnx.pb.h"

namespace weft::onnx {

/// Versions of operator sets, by domain. The default domain is "".
using Opsets = std::map<std::string, std::int64_t, std::less<>>;
Opsets opsets_of(const google::protobuf::RepeatedPtrField<onnx_proto::OperatorSet>& imports);
/// Returns "" for "ai.onnx", which is another name of the default domain.
std::string_view canonical_domain(std::string_view domain);

/// Thrown to read the file again with an input as a constant, because its value determines a shape.
struct FixInput {
  std::string name;
};

struct FileImport {
  FileImport(std::string path, std::shared_ptr<const onnx_proto::Model> model,
             const OnnxReadOptions& options);

  /// Declares a variable. If the name is taken, a number is added to it.
  Value add_variable(std::string_view name, Tensor value, VariableKind kind);
  /// Returns the function of the file that a node calls, or null.
  const onnx_proto::Function* find_function(const onnx_proto::Node& node) const;

  std::string path;
  std::shared_ptr<const onnx_proto::Model> model;
  const OnnxReadOptions& options;
  TensorReader reader;
  std::shared_ptr<Graph> graph;
  TensorMap tensors;  // the values of the variables
  KnownValues known;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>,
           const onnx_proto::Function*>
      functions;  // by domain, name and overload
  int depth = 0;  // of functions and bodies
};

}  // namespace weft::onnx
