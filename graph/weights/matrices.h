// The weight matrices of programs: which parameters linear layers multiply by. What transforms of
// weights share.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/clone.h"

namespace WEFT_API weft {

/// A parameter that the programs use as a matrix of weights and as nothing else.
struct WeightMatrix {
  std::string name;
  Value value;          // the matrix as floats: the parameter itself, or what it is widened to
  bool out_in = false;  // [outputs, inputs]; else [inputs, outputs]

  std::int64_t rows() const { return value.shape()[0].constant(); }
  std::int64_t columns() const { return value.shape()[1].constant(); }
  std::int64_t inputs() const { return out_in ? columns() : rows(); }
  std::int64_t outputs() const { return out_in ? rows() : columns(); }
};

/// What else than products may use a matrix, and how it may be kept.
struct WeightMatrixOptions {
  bool embeddings = false;  // rows are taken of it, too
  bool quantized = false;   // those in fewer bits (quantized_weights.h) beside those in f32
};

/// An f32 parameter with two axes of known sizes?
bool is_weight_matrix(const VariableInfo& info);

/// The matrices that the programs, all over `graph`, only multiply by (the second operand of
/// matmul) or, as the options say, also take rows of, with the same inputs in all places; in order
/// of declaration.
std::vector<WeightMatrix> weight_matrices(Graph& graph, const std::vector<Program>& programs,
                                          const WeightMatrixOptions& options = {});

/// True where a name fits a pattern with * and ? as in a shell.
bool matches(const std::string& pattern, const std::string& name);
bool matches_any(const std::vector<std::string>& patterns, const std::string& name);

/// Those of `candidates` that some pattern fits. Throws ArgumentError for a pattern that fits none,
/// listing all; `what` says what they are.
std::vector<WeightMatrix> select_matrices(const std::vector<WeightMatrix>& candidates,
                                          const std::vector<std::string>& patterns,
                                          std::string_view what);

/// The one graph that programs are over. Throws ArgumentError where there is none (`what` says what
/// was wanted), GraphError where there are several.
Graph& common_graph(const std::vector<Program>& programs, std::string_view what);

/// An empty graph for copies of programs over `source`: with its symbols and what it requires. New
/// draws will not have the numbers of those that are copied.
std::shared_ptr<Graph> graph_like(const Graph& source);

/// A copy of a program with its name, precision, outputs and given updates.
Program copy_program(const Program& program, Cloner& cloner);
/// Those of all programs that are not empty.
std::vector<Program> copy_programs(const std::vector<Program>& programs, Cloner& cloner);
/// The names of values of `source`, for their copies.
void copy_names(const Graph& source, Cloner& cloner);

}  // namespace weft
