// Target networks: copies of a model that follow its weights during training.
#pragma once

#include <cstdint>

#include "weft/autodiff/optimizers/step.h"
#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

struct PolyakOptions {
  /// Share of the new weights of the source in an update. 1 copies them exactly.
  double tau = 0.005;
  /// The target is updated in every `every`-th step.
  std::int64_t every = 1;
};

/// Returns updates by which the weights of `target` follow those of `source`, for a program that
/// also applies `step`:
///   target = target + tau * (source - target)
/// with the weights of the source after the step (Lillicrap et al. 2015). {.tau = 1, .every = 1000}
/// copies the weights every 1000 steps (Mnih et al. 2015).
///
///   const Scope online(g, "online"), target(g, "target");
///   ...
///   const TrainingStep step = adam(loss, online.parameters());
///   train.update(step).update(polyak_updates(target, online, step, {.tau = 0.01}));
///   ...
///   copy_parameters(session, online, target);  // the models start with equal weights
///
/// Parameters, trainable or frozen, and buffers are matched by their names relative to the scopes.
/// Buffers, such as the running statistics of batch norm, and integers are copied without regard to
/// tau. Steps are counted by `step`; a skipped step neither counts nor changes the target. The
/// arithmetic is that of the parameter's dtype. Adds no variables. A mean teacher (Tarvainen and
/// Valpola 2017) is such a target as well; for averages that are only read after training, see Ema.
///
/// Throws ArgumentError, with a list of all missing and unexpected weights and differences of dtype
/// or shape, if the models differ; if a scope has no weights, the step itself updates a weight of
/// the target, tau is not in [0, 1] or `every` is not positive; and GraphError if the scopes or the
/// step belong to different graphs. The graph is then unchanged.
Updates polyak_updates(const Scope& target, const Scope& source, const TrainingStep& step,
                       const PolyakOptions& options = {},
                       SourceLocation loc = SourceLocation::current());

}  // namespace weft
