// What a checkpoint holds, seen by writers. Internal: protobuf stays out of public headers.
#pragma once

#include <vector>

#include "weft/core/parallel.h"
#include "weft/graph/ir/program.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/graph_proto.h"

namespace weft {

/// The header that all files begin with.
void write_header(ContainerWriter& writer);

/// Throws DTypeError and ShapeError where a value does not fit its variable, GraphError where it is
/// undefined.
void check_value(const VariableInfo& info, const Tensor& value);

/// Programs over one graph, with the nodes and variables that they need.
class CheckpointContents {
 public:
  /// Throws GraphError for no programs, or several graphs, or two programs of one name.
  explicit CheckpointContents(const std::vector<Program>& programs);

  /// Variables whose values are saved (all but caches), in the order of files.
  std::vector<VariableInfo> variables() const;
  /// Adds all records but those of `data`, which is left to be written behind them. `place` says
  /// of such a variable where its value is.
  void write(ContainerWriter& writer, DataList& data,
             FunctionRef<void(const VariableInfo&, v1::Variable&)> place,
             const SaveOptions& options) const;

 private:
  const std::vector<Program>& programs_;
  const Graph& graph_;
  std::vector<Node*> nodes_;
};

/// The values that a session has of these variables (which start where they have none) at one
/// moment, and of all others in its store. Throws GraphError for a program of another graph,
/// StateError where the store is torn.
TensorMap snapshot(Session& session, const std::vector<Program>& programs,
                   const std::vector<std::string>& names);

}  // namespace weft
