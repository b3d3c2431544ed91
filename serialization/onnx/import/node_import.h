// One node of an ONNX graph during its translation: the interface for translators of operators.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/serialization/onnx/import/imported_value.h"
#include "weft_proto/onnx.pb.h"

namespace weft::onnx {

class GraphImport;  // import/graph_import.h

/// The operands and attributes of a node. Accessors throw FormatError for missing operands and
/// attributes of another type; the import adds the name of the node, the operator and the file to
/// the message of any Error. After the translation, an attribute or operand that the translator has
/// not read is an error, so that no setting is ignored.
class NodeImport {
 public:
  NodeImport(GraphImport& import, const onnx_proto::Node& node, std::int64_t opset);

  Graph& graph();
  GraphImport& import() { return import_; }
  const onnx_proto::Node& node() const { return node_; }
  std::string_view op() const { return node_.op_type(); }
  /// Version of the domain of the operator.
  std::int64_t opset() const { return opset_; }

  // -- Operands -----------------------------------------------------------------------------------
  std::size_t input_count() const { return static_cast<std::size_t>(node_.input_size()); }
  /// Returns true if the operand exists (its name is not "").
  bool has(std::size_t i) const;
  /// Returns a tensor operand.
  Value input(std::size_t i);
  /// As above; undefined if the operand is absent.
  Value optional(std::size_t i);
  /// Returns tensor operands from number `first` on.
  std::vector<Value> inputs(std::size_t first = 0);
  /// Returns an operand of any kind.
  const ImportedValue& any_input(std::size_t i);
  /// As input(), but if the operand is an initialiser, it becomes a buffer instead of a parameter:
  /// statistics, tables and other values that are not trained.
  Value buffer(std::size_t i);
  std::size_t output_count() const { return static_cast<std::size_t>(node_.output_size()); }
  /// Returns true if output `i` is used.
  bool wants(std::size_t i) const;
  /// Reads and drops an operand that changes nothing in inference.
  void skip_input(std::size_t i) { read_inputs_.insert(i); }

  // -- Attributes ---------------------------------------------------------------------------------
  bool has_attribute(std::string_view name) const;
  std::int64_t integer(std::string_view name);
  std::int64_t integer(std::string_view name, std::int64_t otherwise);
  bool flag(std::string_view name, bool otherwise = false);  // an integer, 0 or 1
  double real(std::string_view name);
  double real(std::string_view name, double otherwise);
  std::string text(std::string_view name, std::string_view otherwise);
  std::optional<std::vector<std::int64_t>> integers(std::string_view name);
  std::optional<std::vector<double>> reals(std::string_view name);
  std::optional<std::vector<std::string>> texts(std::string_view name);
  std::optional<Tensor> tensor(std::string_view name);  // also of a sparse tensor
  const onnx_proto::Graph& body(std::string_view name);
  /// Marks an attribute as read that changes nothing for this operator.
  void skip_attribute(std::string_view name) { read_attributes_.insert(std::string(name)); }

  // -- Values that are known when the file is read ------------------------------------------------
  /// Returns a value if it is known (see KnownValues).
  std::optional<Tensor> known(Value value);
  /// As above, for operand `i`. An initialiser that is used only in this way is no variable of the
  /// graph.
  std::optional<Tensor> known_if_any(std::size_t i);
  /// Returns the value of operand `i`. Throws FormatError, naming the input of the file on which it
  /// depends and OnnxReadOptions::input_values, if it is not known.
  Tensor known_input(std::size_t i);
  /// As above, as integers (of any integer dtype).
  std::vector<std::int64_t> known_integers(std::size_t i);
  double known_real(std::size_t i);
  std::int64_t known_integer(std::size_t i);
  /// Returns the elements of an integer operand as sizes. Throws FormatError as known_input() does.
  std::vector<Dim> sizes(std::size_t i);
  /// As above, for an operand with one element.
  Dim size(std::size_t i);
  /// Returns operand `i` if it exists, otherwise the attribute: `axes` and similar settings are
  /// attributes in old opsets and operands in new ones.
  std::optional<std::vector<std::int64_t>> operand_or_attribute(std::size_t i,
                                                                std::string_view name);

  /// If operand `i` depends on an input whose value is in OnnxReadOptions::input_values, reads the
  /// file again with this input as a constant (by throwing FixInput). Otherwise does nothing.
  void fix_input(std::size_t i);
  /// Declares a variable that is not trained, for a value that the import computes: weights in
  /// Weft's layout, tables. If the name is taken, a number is added to it.
  Value add_buffer(std::string_view name, Tensor value);

  // -- Helpers ------------------------------------------------------------------------------------
  /// Returns an axis attribute in [0, rank). Throws FormatError if it is out of range.
  int axis(std::string_view name, std::int64_t otherwise, int rank);
  int normalised_axis(std::int64_t axis, int rank) const;
  /// Throws FormatError: "<op> with <what> is not supported".
  [[noreturn]] void unsupported(std::string_view what) const;
  /// Throws FormatError unless all operands and attributes have been read.
  void check_all_read() const;

 private:
  const onnx_proto::Attribute* find(std::string_view name, int type);
  const onnx_proto::Attribute& require(std::string_view name, int type);
  const std::string& operand_name(std::size_t i);
  [[noreturn]] void unknown(std::size_t i);

  GraphImport& import_;
  const onnx_proto::Node& node_;
  std::int64_t opset_;
  std::set<std::size_t> read_inputs_;
  std::set<std::string, std::less<>> read_attributes_;
};

/// Translates a node: builds Weft nodes and returns the outputs of the ONNX node, in order.
/// Outputs that are not used (NodeImport::wants) may be undefined, or left out at the end.
using Translate = std::vector<ImportedValue> (*)(NodeImport& node);

/// The translator of an operator. `since` is the first opset whose meaning the translator
/// implements; it reads NodeImport::opset() for changes after that.
struct Operator {
  std::string_view name;
  std::int64_t since;
  Translate translate;
};

}  // namespace weft::onnx
