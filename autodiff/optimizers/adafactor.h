// Adafactor: Adam with second moments that cost a row and a column per matrix.
#pragma once

#include "weft/autodiff/optimizers/step.h"
#include "weft/autodiff/schedule.h"

namespace WEFT_API weft {

struct AdafactorOptions {
  /// Relative step sizes unless another schedule is given. One of your own usually goes with
  /// scale_parameter = false.
  Schedule lr = relative_step_size();
  /// Steps are as large as the parameter's root mean square (but at least eps2), times lr.
  bool scale_parameter = true;
  double eps1 = 1e-30;  // added to squared gradients
  double eps2 = 1e-3;   // smallest scale of a parameter
  /// d: a parameter's step has at most this root mean square before the learning rate.
  double clip_threshold = 1;
  /// Second moments forget with b2 = 1 - t^-decay_rate.
  double decay_rate = 0.8;
  double beta1 = 0;         // 0: no first moment, and no memory for it
  double weight_decay = 0;  // of the parameter itself, times its step size
  Decay decay = Decay::matrices;
  StepOptions step = {};
};

/// Adafactor (Shazeer and Stern 2018), in the form of Hugging Face's library:
///   b2 = 1 - t^-decay_rate, s = g*g + eps1
///   two or more axes:  r = b2*r + (1-b2) * mean of s over the last axis,
///                      c = b2*c + (1-b2) * mean of s over the last but one,
///                      u = g / sqrt(r * c / mean of r over the rows)
///   others:            v = b2*v + (1-b2) * s, u = g / sqrt(v)
///   u /= max(1, rms(u) / clip_threshold); a = lr * max(eps2, rms(p)), or lr alone
///   with beta1:        m = b1*m + (1-b1) * a*u;  p = p * (1 - a*wd) - m
///   without:           p = p * (1 - a*wd) - a*u
/// rms(x) is the root mean square of all elements; further axes in front are as many matrices.
TrainingStep adafactor(const Loss& loss, const ParameterGroups& groups,
                       const AdafactorOptions& options = {},
                       SourceLocation loc = SourceLocation::current());

}  // namespace weft
