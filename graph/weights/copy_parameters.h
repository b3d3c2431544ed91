// Copies and averages of the weights of models, between scopes, Sessions and stores.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

class Session;
class VariableStore;

struct CopyOptions {
  /// Share of the source in the new parameters: target + tau * (source - target), rounded once. 1
  /// copies the source exactly; smaller values are Polyak averages (Lillicrap et al. 2015).
  double tau = 1;
  /// Also copy buffers, such as the running statistics of batch norm. They are copied as they are,
  /// independently of tau. If false, buffers are neither compared nor changed.
  bool buffers = true;
};

// The weights of a model are its parameters, trainable or frozen, and its buffers. Optimizer
// state, caches and random keys are neither read nor written. Two models are compared by the names
// of their weights relative to their scopes, so that "policy.block.weight" is copied to
// "reference.block.weight". Matching is strict: an ArgumentError lists all missing and unexpected
// names and all differences of dtype or shape, and nothing is changed. All weights change together,
// between two runs. Weights without a value, on either side, are initialised first.

/// Copies the weights of one scope to another scope of the same graph: a frozen reference of a
/// policy, or a target network.
///
///   const Scope policy(g, "policy"), reference(g, "reference");
///   ...
///   copy_parameters(session, policy, reference);
///
/// To update the target inside of a training program, see polyak_updates(). Throws ArgumentError if
/// the models differ (see above), a scope has no weights or tau is not in [0, 1], and GraphError if
/// a scope belongs to another graph than the Session.
void copy_parameters(Session& session, const Scope& from, const Scope& to,
                     const CopyOptions& options = {},
                     SourceLocation loc = SourceLocation::current());

/// Copies the weights of a scope to a scope of another Session, which may have another graph.
/// Scope(g) denotes all weights of the graph g.
void copy_parameters(Session& source, const Scope& from, Session& target, const Scope& to,
                     const CopyOptions& options = {},
                     SourceLocation loc = SourceLocation::current());

/// Sets the weights of a scope to tensors with names relative to the scope.
void copy_parameters(const std::map<std::string, Tensor, std::less<>>& weights, Session& target,
                     const Scope& to, const CopyOptions& options = {},
                     SourceLocation loc = SourceLocation::current());

/// Returns copies of the weights of a scope, by name relative to the scope.
std::map<std::string, Tensor, std::less<>> weights_in(
    Session& session, const Scope& scope, SourceLocation loc = SourceLocation::current());

/// Returns a consistent snapshot of the weights in the given scope of a store, by name relative to
/// the scope. An empty scope denotes all weights. Throws ArgumentError if the scope has no
/// weights.
std::map<std::string, Tensor, std::less<>> weights_in(
    const VariableStore& store, std::string_view scope = {},
    SourceLocation loc = SourceLocation::current());

/// Returns the average of several models, for example of the last checkpoints of a training run, or
/// of models that were fine-tuned with different options (Wortsman et al. 2022, "model soups"):
///
///   std::vector<std::map<std::string, Tensor, std::less<>>> models;
///   for (const std::string& path : last)
///   models.push_back(weights_in(*load_checkpoint(path).store()));
///   copy_parameters(average_parameters(models), session, Scope(g));
///
/// `weights` are the shares of the models, which need not add up to 1; if empty, all shares are
/// equal. Averages are computed in double and rounded once; the average of equal models is
/// bit-identical to them. Tensors that are not floating-point (counters) are taken from the last
/// model with a positive share. Throws ArgumentError if there is no model, if models differ in
/// names or types, or if `weights` has another length, a negative or non-finite number, or the sum
/// 0.
std::map<std::string, Tensor, std::less<>> average_parameters(
    const std::vector<std::map<std::string, Tensor, std::less<>>>& models,
    const std::vector<double>& weights = {}, SourceLocation loc = SourceLocation::current());

}  // namespace weft
