// Gradients computed on behalf of another function whose callers cannot pass GradientOptions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/autodiff/gradients.h"

namespace WEFT_API weft {

/// Texts for error messages: the name of the function that the user called, and remedies.
struct GradientAdvice {
  std::string function = "gradients";
  /// Remedy if an op has no gradient rule.
  std::string no_rule =
      "add one to its record (OpRecord::rule), or block the gradient with stop_gradient";
  /// Remedy if the output does not depend on a value.
  std::string unreachable = "leave it out, or request zeros (Unreachable::zeros)";
  /// If not null, incremented for each visited node and each accumulated gradient.
  std::int64_t* steps = nullptr;
};

/// Like gradients(), but error messages contain the function name and remedies in `advice`. A
/// failed call leaves the graph unchanged. `joined` lists the values of `wrt` that differ by shard
/// and whose gradients are needed from all shards: each gradient is flattened to rows [n, width],
/// where width is the size of its last axis, and the rows of all shards are concatenated by
/// shard_concat().
std::vector<Value> gradients_for(const GradientAdvice& advice, Value output,
                                 const std::vector<Value>& wrt, const GradientOptions& options,
                                 SourceLocation loc, const std::vector<Value>& joined = {});

/// Returns the gradients summed over all `outputs` (at least one) in one backward sweep. Each
/// output has its own cotangent, of the output's type; `options.cotangent` is ignored. Unlike
/// differentiating the inner product of outputs and cotangents, no gradient flows through the
/// cotangents.
std::vector<Value> gradients_of_all(const GradientAdvice& advice, const std::vector<Value>& outputs,
                                    std::vector<Value> cotangents, std::vector<Value> wrt,
                                    const GradientOptions& options, SourceLocation loc,
                                    const std::vector<Value>& joined = {});

}  // namespace weft
