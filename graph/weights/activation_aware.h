// Activation-aware scaling of weights before they are quantised (AWQ; Lin et al. 2023).
//
// A product y = x W does not change if each channel of x is divided by a number and the
// corresponding row of W is multiplied by it. If W is quantised, rows with a larger factor are
// rounded more precisely, relative to their values, at the expense of the other rows of a group.
// The factor of channel i is (mean |x_i|)^alpha, so channels with large inputs are rounded more
// precisely. If x is the output of a norm, the gain and the bias of the norm absorb the division,
// and programs do not change.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph/weights/calibrate.h"

namespace WEFT_API weft {

/// Matrices that read the output of the same norm.
struct ScaledMatrices {
  std::string gain;  // the gain of the norm
  std::vector<std::string> matrices;
  double alpha = 0;  // 0: not scaled
  /// Estimated squared errors of the outputs without and with scaling.
  double error_before = 0, error_after = 0;
};

/// Weights with the same meaning as the original ones, but smaller rounding errors.
struct ScaledWeights {
  std::shared_ptr<VariableStore> store;
  std::vector<ScaledMatrices> groups;
};

/// Scales the f32 matrices that match one of the patterns by name and read only outputs of
/// layer_norm or rms_norm. The gain and bias of the norm must be parameters that nothing else
/// reads, and only such matrices may read its outputs. alpha is chosen from 0, 0.05, ..., 1 to
/// minimise the estimated error of uncorrelated input channels:
///   sum over i, j of mean(x_i^2) (W_ij - W'_ij)^2.
/// `inputs` are statistics of all matrices (observe_inputs()). Costs the time of quantising the
/// matrices 21 times. Throws ArgumentError if there are no such matrices, if the statistics of one
/// are missing, or if there are no programs.
ScaledWeights scale_weights(const std::vector<Program>& programs, const VariableStore& store,
                            const std::map<std::string, InputStatistics>& inputs,
                            QuantizedFormat format,
                            const std::vector<std::string>& patterns = {"*"});

}  // namespace weft
