// Equations between dims that were added with Graph::require(). Internal to Graph.
#pragma once

#include <vector>

#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Decides equality of dims under the required equations. An equation that can be solved for a
/// symbol (the symbol occurs once, linearly, with coefficient +-1) becomes a substitution. Any
/// other equation left == right proves a == b only if a - b equals left - right or right - left.
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
