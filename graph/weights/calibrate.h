// Calibration of quantised models: programs that observe the inputs of their weight matrices, or
// the errors that quantisation causes, while they run on data.
//
//   ObservedModel observed = observe_inputs(programs, store, {"*"});
//   Session session(*observed.graph, observed.store);
//   session.run(observed.programs[0], feeds);  // for every batch of the data
//   options.activation_scales = ...
//
// The observed programs have the outputs of the original ones and additional updates of buffers.
// Each run adds to the statistics of the products that it computes. Products within loop bodies are
// not observed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph/engine/variable_store.h"
#include "weft/graph/weights/quantize.h"

namespace WEFT_API weft {

/// Copies of programs that gather statistics. The new store shares the tensors of the original.
struct ObservedModel {
  std::shared_ptr<Graph> graph;
  std::vector<Program> programs;
  std::shared_ptr<VariableStore> store;
  std::vector<std::string> matrices;  // names of the observed matrices
};

/// Largest magnitude, sum of the magnitudes and sum of the squares of each input channel of a
/// matrix, f32[inputs]. All zeros if no product with this matrix has run.
struct InputStatistics {
  Tensor largest, total, squares;
};
/// Observes the inputs of products with the f32 weight matrices that match one of the patterns by
/// name. Matrices that are used only for lookups have no inputs. Throws ArgumentError if there
/// are no programs or if a pattern matches no such matrix.
ObservedModel observe_inputs(const std::vector<Program>& programs, const VariableStore& store,
                             const std::vector<std::string>& patterns = {"*"});
/// Returns the statistics by matrix name.
std::map<std::string, InputStatistics> input_statistics(const ObservedModel& observed);

/// Observes the error of products with inputs rounded by different static scales: fractions
/// 1, 0.85, 0.85^2, ... of the scale max|x| / 127. Inputs beyond the range of a scale are clipped;
/// a smaller scale rounds all others more precisely. The error of a scale is the sum of
/// (x - fake_quantize(x, scale))^2, weighted by the squared norm of the weights of each channel.
/// Matrices with inputs that were all below 2^-90 are not observed.
ObservedModel observe_scales(const std::vector<Program>& programs, const VariableStore& store,
                             const std::map<std::string, InputStatistics>& inputs);
/// Returns the scale with the smallest error for each observed matrix.
std::map<std::string, float, std::less<>> best_scales(
    const ObservedModel& observed, const std::map<std::string, InputStatistics>& inputs);

/// Observes how many inputs of each matrix have which magnitude, relative to the largest one, in
/// bins that grow by 2.2%. Matrices with inputs that were all below 2^-90 are not observed.
ObservedModel observe_magnitudes(const std::vector<Program>& programs, const VariableStore& store,
                                 const std::map<std::string, InputStatistics>& inputs);
/// Returns the scale of each observed matrix for which at most 100 - `percentile` percent of the
/// inputs are clipped: the percentile of the magnitudes, rounded up to the limit of a bin, divided
/// by 127. 100 is the largest magnitude. Throws ArgumentError unless 0 < percentile <= 100.
std::map<std::string, float, std::less<>> percentile_scales(
    const ObservedModel& observed, const std::map<std::string, InputStatistics>& inputs,
    double percentile);

/// Observes the difference between the products of the original programs and the products with the
/// matrices of `quantized`, which was made from the same programs. Both read the inputs of the
/// original programs, so errors do not accumulate over layers.
ObservedModel observe_errors(const std::vector<Program>& programs, const VariableStore& store,
                             const QuantizedModel& quantized);
/// Returns the relative error |y - y'| / |y| of the outputs of each matrix (Frobenius norms over
/// all runs). Matrices without products, or with outputs that are all zero, have no entry.
std::map<std::string, double> output_errors(const ObservedModel& observed);

/// Returns the relative error |W - W'| / |W| of each converted matrix (Frobenius norms), 0 for a
/// matrix of zeros.
std::map<std::string, double> weight_errors(const VariableStore& store,
                                            const QuantizedModel& quantized);

}  // namespace weft
