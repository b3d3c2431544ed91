// The weight matrices of programs, that is, the parameters that linear layers multiply by, and
// helpers shared by the weight transforms.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/clone.h"

namespace WEFT_API weft {

/// A parameter that the programs use only as a weight matrix, or as a stack of matrices, one for
/// each group of rows.
struct WeightMatrix {
  std::string name;
  Value value;  // the f32 matrix or stack [matrices, rows, columns]: the parameter itself or its
                // widened value
  bool out_in = false;      // layout: true for [outputs, inputs], false for [inputs, outputs]
  bool multiplied = false;  // the second operand of a product
  bool looked_up = false;   // its rows are also looked up (WeightMatrixOptions::embeddings)

  /// The number of matrices in a stack, or 0 for a single matrix.
  std::int64_t stack() const { return value.rank() == 3 ? value.shape()[0].constant() : 0; }
  std::int64_t rows() const { return value.shape()[value.rank() - 2].constant(); }
  std::int64_t columns() const { return value.shape()[value.rank() - 1].constant(); }
  std::int64_t inputs() const { return out_in ? columns() : rows(); }
  std::int64_t outputs() const { return out_in ? rows() : columns(); }
};

/// Selects parameters that count as weight matrices in addition to f32 parameters that are used
/// only by products.
struct WeightMatrixOptions {
  bool embeddings = false;  // matrices whose rows are also looked up
  bool quantized = false;   // quantised matrices (quantized_weights.h)
  bool stacks = false;      // stacks of matrices that only grouped_matmul reads
};

/// Returns true for an f32 parameter with two axes of constant size.
bool is_weight_matrix(const VariableInfo& info);
/// As above, for three axes, the first of which is not empty.
bool is_weight_stack(const VariableInfo& info);

/// Returns the matrices that the programs, all over `graph`, use only as the second operand of
/// matmul or, depending on the options, also for lookups of rows, and the stacks that they use only
/// as the second operand of grouped_matmul. All uses of a matrix must agree on which axis holds the
/// inputs. The result is in declaration order.
std::vector<WeightMatrix> weight_matrices(Graph& graph, const std::vector<Program>& programs,
                                          const WeightMatrixOptions& options = {});

/// Return true if `name` matches the pattern, or any of the patterns, in which * and ? are
/// wildcards as in a shell.
bool matches(const std::string& pattern, const std::string& name);
bool matches_any(const std::vector<std::string>& patterns, const std::string& name);

/// Returns the candidates that match at least one pattern. If a pattern matches no candidate,
/// throws an ArgumentError that lists all candidates; `what` describes a candidate in the message,
/// as in "matrix that can be converted".
std::vector<WeightMatrix> select_matrices(const std::vector<WeightMatrix>& candidates,
                                          const std::vector<std::string>& patterns,
                                          std::string_view what);

/// Returns the graph to which all programs belong. Throws ArgumentError if no program has a graph
/// (`what` describes the missing programs in the message), and GraphError if the programs belong to
/// several graphs.
Graph& common_graph(const std::vector<Program>& programs, std::string_view what);

/// Returns an empty graph for copies of programs over `source`, with its ops, symbols and
/// requirements. New random draws in this graph use different stream numbers from the draws of
/// `source`.
std::shared_ptr<Graph> empty_graph_like(const Graph& source);

/// Copies a program with its name, precision, shards, outputs and explicit updates.
Program copy_program(const Program& program, Cloner& cloner);
/// Copies all programs that are not empty.
std::vector<Program> copy_programs(const std::vector<Program>& programs, Cloner& cloner);
/// Copies the names of values in `source` to the copies of these values.
void copy_names(const Graph& source, Cloner& cloner);

}  // namespace weft
