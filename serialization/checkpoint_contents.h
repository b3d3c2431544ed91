// Writing the contents of a checkpoint. Internal: protobuf stays out of public headers.
#pragma once

#include <vector>

#include "weft/core/function_ref.h"
#include "weft/graph/ir/program.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/graph_proto.h"

namespace weft {

/// Writes the header record, the first record of every file.
void write_header(ContainerWriter& writer);

/// Throws DTypeError or ShapeError if a value does not have the type of its variable, and
/// GraphError if the value is undefined.
void check_value(const VariableInfo& info, const Tensor& value);

/// Programs of one graph, with the nodes and variables that they need.
class CheckpointContents {
 public:
  /// Throws GraphError if there are no programs, if they belong to several graphs or if two
  /// programs have the same name.
  explicit CheckpointContents(const std::vector<Program>& programs);

  /// The variables whose values are saved (all except caches), in file order.
  std::vector<VariableInfo> variables() const;
  /// Writes all records except data records. Adds constants and attachments to `data`, which the
  /// caller writes afterwards. For each variable in variables(), calls `place` to set the location
  /// of its value in the message.
  void write(ContainerWriter& writer, DataList& data,
             FunctionRef<void(const VariableInfo&, v1::Variable&)> place,
             const SaveOptions& options) const;

 private:
  const std::vector<Program>& programs_;
  const Graph& graph_;
  std::vector<Node*> nodes_;
};

/// Returns a consistent snapshot of the variables `names` of a session, and of all other variables
/// in its store. Variables without a value are initialised first. Throws GraphError if a program
/// belongs to another graph, and StateError if the store is torn.
TensorMap snapshot(Session& session, const std::vector<Program>& programs,
                   const std::vector<std::string>& names);

}  // namespace weft
