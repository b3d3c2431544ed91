// What the user has required of dims: internal to the graph.
#pragma once

#include <vector>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Equality of dims under the required equations. Each equation that can be solved for a symbol (it
/// occurs once, linearly, with coefficient +-1) becomes a substitution; the others are compared as
/// stated.
class Graph::Facts : public DimFacts {
 public:
  void add(const DimEquation& equation);
  bool equal(const Dim& a, const Dim& b) const override;

 private:
  Dim normalize(const Dim& d) const;

  std::vector<std::pair<SymbolPtr, Dim>> substitutions_;
  std::vector<DimEquation> others_;
};

}  // namespace weft
