// The translation of one ONNX graph (the main graph, the body of a loop or branch, a function) into
// a Weft graph.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "weft/serialization/onnx/import/file_import.h"
#include "weft/serialization/onnx/import/imported_value.h"

namespace weft::onnx {

using google::protobuf::Message;
using Nodes = std::vector<const onnx_proto::Node*>;
Nodes pointers_to(const google::protobuf::RepeatedPtrField<onnx_proto::Node>& nodes);

/// A scope of names. A body of a loop or branch sees the names of the graphs around it; a function
/// sees its inputs only.
class GraphImport {
 public:
  /// `outer` is null for the main graph and for functions. `description` names the graph in errors:
  /// "the main graph".
  GraphImport(FileImport& file, const Opsets& opsets, GraphImport* outer, std::string description);

  FileImport& file() { return file_; }
  /// The main graph. New nodes belong to the body that is being built in it, if any.
  Graph& graph() { return *file_.graph; }
  /// Makes the initialisers of a graph available.
  void initializers(const onnx_proto::Graph& graph);
  /// Defines a name of the ONNX graph. Throws FormatError if it is defined in this scope.
  void define(const std::string& name, ImportedValue value);
  /// Returns the value of a name of this scope or of the scopes around it. An initialiser is turned
  /// into a variable (floating-point, with axes) or a constant on its first use. Throws FormatError
  /// for an unknown name.
  const ImportedValue& value(const std::string& name, bool as_buffer = false);
  /// Returns the tensor if the name is an initialiser, without turning it into a variable.
  std::optional<Tensor> initializer(const std::string& name);
  /// Translates the nodes that the values `needed` depend on, in the order of the file, which is
  /// topological.
  void nodes(const Nodes& nodes, const std::vector<std::string>& needed);
  /// Translates the body of a loop or branch, whose inputs have these values, and returns its
  /// outputs. `description` names the body in errors: "the body of Loop".
  std::vector<ImportedValue> body(const onnx_proto::Graph& body,
                                  const std::vector<ImportedValue>& inputs,
                                  std::string description);
  /// RAII scope for the translation of a body that may fail and be repeated in another way. Weft's
  /// builders of loops and branches remove the nodes of a body that fails: without keep(), values
  /// that refer to these nodes are forgotten.
  class Attempt {
   public:
    explicit Attempt(FileImport& file);
    ~Attempt();
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;
    void keep() { kept_ = true; }

   private:
    FileImport& file_;
    const std::size_t materialised_;
    bool kept_ = false;
  };
  /// Returns true if a translated node or an output of the graph uses the value.
  bool is_used(const std::string& name) const { return used_.count(name) != 0; }
  /// Returns true if the name is an input of a function that the call leaves out.
  bool is_absent(const std::string& name);

 private:
  struct Initializer {
    const onnx_proto::Tensor* dense = nullptr;
    const onnx_proto::SparseTensor* sparse = nullptr;
    Tensor tensor = {};  // once it has been read
    const Message* message() const {
      return dense != nullptr ? static_cast<const Message*>(dense) : sparse;
    }
    /// The kind of value, in files that Weft wrote (see model_file.h).
    std::string mark() const { return dense != nullptr ? dense->doc_string() : std::string(); }
  };
  GraphImport* scope_of(const std::string& name);
  const Tensor& read(const std::string& name, Initializer& initializer);
  void node(const onnx_proto::Node& node, int number);
  std::vector<ImportedValue> translate(const onnx_proto::Node& node);
  std::vector<ImportedValue> call(const FileFunction& callee, const onnx_proto::Node& node);
  bool computes_sizes(const onnx_proto::Node& node);
  void define_outputs(const onnx_proto::Node& node, const std::vector<ImportedValue>& outputs);

  FileImport& file_;
  const Opsets& opsets_;
  GraphImport* outer_;
  std::string description_;
  std::unordered_map<std::string, ImportedValue> values_;
  std::unordered_map<std::string, Initializer> initializers_;
  std::unordered_set<std::string> used_;
};

}  // namespace weft::onnx
