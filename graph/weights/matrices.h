// The weight matrices of programs: which parameters linear layers multiply by. What transforms of
// weights share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/clone.h"

namespace weft {

/// A parameter that the programs use as a matrix of weights and as nothing else.
struct WeightMatrix {
  Variable variable;
  bool out_in = false;  // [outputs, inputs]; else [inputs, outputs]
};

/// An f32 parameter with two axes of known sizes?
bool is_weight_matrix(const VariableInfo& info);

/// The matrices that the programs, all over `graph`, only multiply by (the second operand of
/// matmul) or, if `embeddings`, also take rows of, with the same inputs in all places; in order of
/// declaration.
std::vector<WeightMatrix> weight_matrices(Graph& graph, const std::vector<Program>& programs,
                                          bool embeddings);

/// True where a name fits a pattern with * and ? as in a shell.
bool matches(const std::string& pattern, const std::string& name);

/// Those of `candidates` that some pattern fits. Throws ArgumentError for a pattern that fits none,
/// listing all; `what` says what they are.
std::vector<WeightMatrix> select_matrices(const std::vector<WeightMatrix>& candidates,
                                          const std::vector<std::string>& patterns,
                                          std::string_view what);

/// The one graph that programs are over. Throws ArgumentError where there is none (`what` says what
/// was wanted), GraphError where there are several.
Graph& common_graph(const std::vector<Program>& programs, std::string_view what);

/// A copy of a program with its name, precision, outputs and given updates.
Program copy_program(const Program& program, Cloner& cloner);

}  // namespace weft
