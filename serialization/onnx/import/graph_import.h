// The translation of one ONNX graph (the main graph, the body of a loop or branch, a function) into
// a Weft graph.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/serialization/onnx/import/imported_value.h"
#include "weft/serialization/onnx/import/known_values.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/serialization/onnx/tensors.h"
#include "weft_proto/onnx.pb.h"

namespace weft::onnx {

/// What all graphs of one file share: the Weft graph, the initialisers, known values and functions.
struct FileImport;

/// A scope of names. A body of a loop or branch sees the names of the graphs around it; a function
/// sees its inputs only.
class GraphImport {
 public:
  GraphImport(FileImport& file, const GraphImport* outer, std::string description);

  FileImport& file() { return file_; }
  /// The Weft graph to which new nodes are added.
  Graph& graph();
  /// Defines a name of the ONNX graph. Throws FormatError if it is defined in this scope.
  void define(const std::string& name, ImportedValue value);
  /// Returns the value of a name of this scope or of the scopes around it. An initialiser is turned
  /// into a variable or constant on its first use. Throws FormatError for an unknown name.
  const ImportedValue& value(const std::string& name, bool as_buffer = false);
  /// Translates nodes in the order of the file, which is topological.
  void nodes(const google::protobuf::RepeatedPtrField<onnx_proto::Node>& nodes);

 private:
  FileImport& file_;
  const GraphImport* outer_;
  std::string description_;
  std::unordered_map<std::string, ImportedValue> values_;
};

}  // namespace weft::onnx
