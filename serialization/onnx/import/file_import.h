// The state that all graphs of one ONNX file share while it is read.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "weft/core/error.h"
#include "weft/serialization/onnx/import/imported_value.h"
#include "weft/serialization/onnx/import/known_values.h"
#include "weft/serialization/onnx/model_file.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/serialization/onnx/tensors.h"
#include "weft_proto/onnx.pb.h"

namespace weft::onnx {

/// Thrown to read the file again with an input as a constant, because its value determines a shape.
struct FixInput {
  std::string name;
};

/// Throws FormatError with this message, or an error of the type of `e` if a file cannot be read or
/// memory is exhausted.
[[noreturn]] void throw_for_file(const Error& e, const std::string& message);

struct FileFunction {
  const onnx_proto::Function* function = nullptr;
  Opsets opsets;
};

struct FileImport {
  FileImport(std::string path, std::shared_ptr<const onnx_proto::Model> model,
             const OnnxReadOptions& options);

  /// Declares a variable. If the name is taken, a number is added to it.
  Value add_variable(std::string_view name, Tensor value, VariableKind kind, bool trainable = true);
  /// Returns the function of the file that a node calls, or null.
  const FileFunction* find_function(const onnx_proto::Node& node) const;
  /// Returns a copy of a node of a function, in which references to attributes of the function are
  /// replaced by the attributes of the call, or by the defaults of the function. Throws FormatError
  /// if the copies exceed OnnxReadOptions::max_memory.
  const onnx_proto::Node& bind_attributes(const onnx_proto::Node& node,
                                          const onnx_proto::Function& function,
                                          const onnx_proto::Node& call);
  /// Counts a node that is translated. Throws FormatError for too many nodes: a small file can
  /// expand to any number of them, because functions call functions and loops are unrolled.
  void count_node();

  std::string path;
  /// Tensors are views of these messages.
  struct Messages {
    std::shared_ptr<const onnx_proto::Model> model;
    std::deque<onnx_proto::Node> bound;  // results of bind_attributes()
  };
  std::shared_ptr<Messages> messages;
  const OnnxReadOptions& options;
  const Opsets opsets;  // of the main graph
  TensorReader reader;
  std::shared_ptr<Graph> graph;
  TensorMap tensors;  // the values of the variables
  /// The variables and constants of initialisers that are used, by message, and in order.
  std::unordered_map<const google::protobuf::Message*, ImportedValue> initializers;
  std::vector<const google::protobuf::Message*> materialised;
  KnownValues known;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>,
           FileFunction>
      functions;  // by domain, name and overload
  int depth = 0;  // of functions and bodies

 private:
  std::uint64_t bound_bytes_ = 0;
  std::int64_t nodes_ = 0;
};

}  // namespace weft::onnx
