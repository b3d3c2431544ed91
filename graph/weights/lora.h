// Low-rank adapters (Hu et al. 2022, "LoRA"). Fine-tuning trains two thin matrices A and B for each
// frozen weight matrix W of a model:
//
//   x W  becomes  x W + alpha / rank * (dropout(x) A^T) B^T
//
// A [rank, inputs] is initialised uniformly in +-1/sqrt(inputs) and B [outputs, rank] to zero, so
// the adapted model initially computes the same values. Only A and B have gradients and moments.
// They can be stored separately or merged into W.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/graph/engine/variable_store.h"
#include "weft/graph/weights/quantized_weights.h"

namespace WEFT_API weft {

/// Options of add_lora().
struct LoraOptions {
  std::int64_t rank = 8;  // at least 1
  double alpha = 16;      // positive, finite
  double dropout = 0;     // rate for the adapters' inputs, in [0, 1)
  /// Name patterns of the matrices to add adapters to, with shell wildcards * and ?.
  std::vector<std::string> patterns = {"*"};
  /// Names of the programs that apply dropout to the adapters' inputs.
  std::vector<std::string> training = {"train"};

  double scale() const { return alpha / static_cast<double>(rank); }
};

/// A model with adapters. The variables "<matrix>.lora_a" and "<matrix>.lora_b" are the only
/// trainable parameters. They are not in `store` yet; a Session initialises them.
struct AdaptedModel {
  std::shared_ptr<Graph> graph;
  std::vector<Program> programs;
  std::shared_ptr<VariableStore> store;
  std::vector<std::string> matrices;  // names of the adapted matrices, in declaration order
};

/// Copies `programs` (all over one graph, before passes) into a new graph with adapters, and
/// creates a new store that shares the tensors of `store`. Matrices that can have adapters are
/// parameters with two axes that the programs only multiply by, either f32 or quantised by
/// quantize(). Gradients flow through quantised matrices, and only the adapters are trained
/// (Dettmers et al. 2023, "QLoRA"). For fine-tuning, pass a program whose output is the loss, then
/// add a training step for the copy's parameters.
///
/// Throws ArgumentError if an option is out of range, if a pattern matches no such matrix (the
/// message lists the matrices), or if a program updates parameters.
AdaptedModel add_lora(const std::vector<Program>& programs, const VariableStore& store,
                      const LoraOptions& options = {});

/// Trained adapters without the model.
struct LoraAdapters {
  /// The adapter of one matrix.
  struct Adapter {
    Tensor a, b;  // f32 [rank, inputs], [outputs, rank]
  };
  double scale = 1;                         // alpha / rank
  std::map<std::string, Adapter> adapters;  // keyed by matrix name
  /// Fingerprint of the values of the matrices that the adapters were trained with. It is stored in
  /// adapter files and is empty if unknown.
  std::string base = {};
  /// The matrices that were quantised during training, and their formats.
  std::map<std::string, WeightFormat, std::less<>> quantized = {};
};

/// Returns the adapters in the store of an adapted model. Throws GraphError if any are missing.
LoraAdapters lora_adapters(const std::vector<std::string>& matrices, const VariableStore& store,
                           const LoraOptions& options);

/// Adds scale * B A to each adapted matrix of `store`, or the transpose of this product if the
/// programs use the matrix as [inputs, outputs]. The model without adapters then computes the same
/// function as the adapted model. Throws ArgumentError, before anything is changed, if there is no
/// matrix for an adapter or if an adapter does not match the shape of its matrix; the message names
/// both.
void merge_lora(const std::vector<Program>& programs, VariableStore& store,
                const LoraAdapters& adapters);

}  // namespace weft
