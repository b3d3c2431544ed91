// Adafactor: Adam with second moments stored as only one row and one column per matrix.
#pragma once

#include "weft/autodiff/optimizers/step.h"
#include "weft/autodiff/schedule.h"

namespace WEFT_API weft {

struct AdafactorOptions {
  /// Relative step sizes by default. With other schedules, scale_parameter is usually set to false.
  Schedule lr = relative_step_size();
  /// Multiply lr by the root mean square of the parameter (at least eps2).
  bool scale_parameter = true;
  double eps1 = 1e-30;  // added to squared gradients
  double eps2 = 1e-3;   // lower bound on the root mean square of a parameter
  /// d: upper bound on the root mean square of a parameter's step, before the learning rate is
  /// applied.
  double clip_threshold = 1;
  /// Second moments decay with b2 = 1 - t^-decay_rate.
  double decay_rate = 0.8;
  double beta1 = 0;         // 0: no first moment, which saves its memory
  double weight_decay = 0;  // decoupled: applied to the parameter, scaled by its step size
  Decay decay = Decay::matrices;
  StepOptions step = {};
};

/// Adafactor (Shazeer and Stern 2018), as implemented in Hugging Face transformers:
///   b2 = 1 - t^-decay_rate, s = g*g + eps1
///   two or more axes:  r = b2*r + (1-b2) * mean of s over the last axis,
///                      c = b2*c + (1-b2) * mean of s over the last but one,
///                      u = g / sqrt(r * c / mean of r over the rows)
///   fewer axes:        v = b2*v + (1-b2) * s, u = g / sqrt(v)
///   u /= max(1, rms(u) / clip_threshold); a = lr * max(eps2, rms(p)), or lr alone
///   with beta1:        m = b1*m + (1-b1) * a*u;  p = p * (1 - a*wd) - m
///   without:           p = p * (1 - a*wd) - a*u
/// rms(x) is the root mean square of all elements. Leading axes of a tensor with more than two axes
/// are batch axes: each matrix has its own row and column.
TrainingStep adafactor(const Loss& loss, const ParameterGroups& groups,
                       const AdafactorOptions& options = {},
                       SourceLocation loc = SourceLocation::current());

}  // namespace weft
