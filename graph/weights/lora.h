// Low-rank adapters (Hu et al. 2022, "LoRA"): a model is fine-tuned by training, beside each of its
// frozen weight matrices W, two thin ones:
//
//   x W  becomes  x W + alpha / rank * (dropout(x) A^T) B^T
//
// A [rank, inputs] starts uniform in +-1/sqrt(inputs), B [outputs, rank] at zero, so that nothing
// changes at first. Only A and B have gradients and moments; they can be kept alone, or added to W.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph/run/variable_store.h"
#include "weft/graph/weights/quantized_weights.h"

namespace WEFT_API weft {

struct LoraOptions {
  std::int64_t rank = 8;  // at least 1
  double alpha = 16;      // positive, finite
  double dropout = 0;     // of the adapters' inputs, in [0, 1)
  /// Names of the matrices that get adapters, with * and ? as in a shell.
  std::vector<std::string> patterns = {"*"};
  /// Programs in which adapters' inputs are dropped.
  std::vector<std::string> training = {"train"};

  double scale() const { return alpha / static_cast<double>(rank); }
};

/// A model with adapters. Variables "<matrix>.lora_a" and "<matrix>.lora_b" are its only trainable
/// parameters, and not yet in `store`: a Session makes them.
struct AdaptedModel {
  std::shared_ptr<Graph> graph;
  std::vector<Program> programs;
  std::shared_ptr<VariableStore> store;
  std::vector<std::string> matrices;  // with adapters, in order of declaration
};

/// Copies of `programs` (all over one graph, before passes) in a graph of its own, over a store of
/// its own that shares the tensors of `store`. Matrices are parameters with two axes that the
/// programs only multiply by, in f32 or in fewer bits, as quantize() keeps them: gradients flow
/// through those, and only the adapters are trained (Dettmers et al. 2023, "QLoRA"). Give it a
/// program whose output is the loss, then add a training step for the copy's parameters.
///
/// Throws ArgumentError for options out of range, for a pattern that names no such matrix (lists
/// those there are), and where a program updates parameters.
AdaptedModel add_lora(const std::vector<Program>& programs, const VariableStore& store,
                      const LoraOptions& options = {});

/// Trained adapters, without their model.
struct LoraAdapters {
  /// Beside one matrix.
  struct Adapter {
    Tensor a, b;  // f32 [rank, inputs], [outputs, rank]
  };
  double scale = 1;                         // alpha / rank
  std::map<std::string, Adapter> adapters;  // by the name of their matrix
  /// A word for the values of the matrices that they were trained beside, which files carry;
  /// empty where it is not known.
  std::string base = {};
  /// Of the matrices those that were in fewer bits.
  std::map<std::string, WeightFormat, std::less<>> quantized = {};
};

/// The adapters in the store of an adapted model. Throws GraphError where it has not all of them.
LoraAdapters lora_adapters(const std::vector<std::string>& matrices, const VariableStore& store,
                           const LoraOptions& options);

/// Adds scale * B A to each matrix of `store`, or its transpose where the matrix is [inputs,
/// outputs] as the programs use it: the model without adapters computes what the adapted one does.
/// Throws ArgumentError, before anything is changed, for an adapter without its matrix and one
/// that does not fit it, naming both.
void merge_lora(const std::vector<Program>& programs, VariableStore& store,
                const LoraAdapters& adapters);

}  // namespace weft
