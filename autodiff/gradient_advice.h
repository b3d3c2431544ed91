// Gradients on behalf of another function, whose users cannot give GradientOptions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/autodiff/gradients.h"

namespace WEFT_API weft {

/// What messages call the function, and what they tell its users to do.
struct GradientAdvice {
  std::string function = "gradients";
  /// Where an op has no rule.
  std::string no_rule = "give its record one (OpRecord::rule), or cut the path with stop_gradient";
  /// Where the output does not depend on a value.
  std::string unreachable = "leave it out, or ask for zeros (Unreachable::zeros)";
  /// Counts the nodes that were looked at and the gradients that were added up, if given.
  std::int64_t* steps = nullptr;
};

/// gradients() with other words. What fails leaves the graph as it was. `joined` are those of `wrt`
/// that differ by shard and whose derivatives in all shards are wanted, as rows of the last axis
/// behind one another: shard_concat() of [n, width].
std::vector<Value> gradients_for(const GradientAdvice& advice, Value output,
                                 const std::vector<Value>& wrt, const GradientOptions& options,
                                 SourceLocation loc, const std::vector<Value>& joined = {});

/// The sums over `outputs` (at least one) of their gradients, each with its cotangent (of its type;
/// that of `options` is not read), in one sweep. Unlike in the gradients of an inner product,
/// nothing flows through the cotangents.
std::vector<Value> gradients_of_all(const GradientAdvice& advice, const std::vector<Value>& outputs,
                                    const std::vector<Value>& cotangents,
                                    const std::vector<Value>& wrt, const GradientOptions& options,
                                    SourceLocation loc, const std::vector<Value>& joined = {});

}  // namespace weft
