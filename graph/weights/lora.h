// Low-rank adapters (Hu et al. 2022, "LoRA"). Fine-tuning trains two thin matrices A and B for each
// frozen weight matrix W of a model:
//
//   x W  becomes  x W + scale * (dropout(x) A^T) B^T
//
// A [rank, inputs] is initialised uniformly in +-1/sqrt(inputs) and B [outputs, rank] to zero, so
// the adapted model initially computes the same values. The lookups of a table W [rows, features]
// can have adapters too: W[ids] becomes W[ids] + scale * A^T[ids] B^T with A [rank, rows] and B
// [features, rank]. Only A and B have gradients and moments. They can be stored separately or
// merged into W.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/engine/variable_store.h"
#include "weft/graph/weights/quantized_weights.h"

namespace WEFT_API weft {

/// Size and strength of one adapter.
struct LoraShape {
  std::int64_t rank = 8;  // at least 1
  double alpha = 16;      // positive, finite

  friend bool operator==(const LoraShape&, const LoraShape&) = default;
};
/// Adapter sizes by matrix name.
using LoraShapes = std::map<std::string, LoraShape, std::less<>>;

/// Options of add_lora().
struct LoraOptions {
  std::int64_t rank = 8;  // at least 1
  double alpha = 16;      // positive, finite
  double dropout = 0;     // rate for the adapters' inputs, in [0, 1); lookups have no dropout
  /// Name patterns of the matrices to add adapters to, with shell wildcards * and ?.
  std::vector<std::string> patterns = {"*"};
  /// Names of the programs that apply dropout to the adapters' inputs.
  std::vector<std::string> training = {"train"};
  /// If true, the scale is alpha / sqrt(rank) instead of alpha / rank (Kalajdzievski 2023,
  /// "rsLoRA").
  bool rank_stabilised = false;
  /// Ranks and alphas of single matrices.
  LoraShapes shapes = {};
  /// Names of tables that are tied to an output layer. Their products have adapters, although their
  /// rows are also looked up.
  std::vector<std::string> tied = {};
  /// Tables with adapters for their lookups.
  LoraShapes lookups = {};
  /// Path or published name of the model without adapters. Recorded in files.
  std::string base_model = {};

  /// Returns the shape of the adapter for a matrix.
  LoraShape shape(std::string_view matrix) const;
  double scale(const LoraShape& shape) const;
  double scale() const { return scale(LoraShape{rank, alpha}); }
};

/// A model with adapters. The variables "<matrix>.lora_a" and "<matrix>.lora_b" (for lookups,
/// "<table>.lora_embedding_a" and "<table>.lora_embedding_b") are the only trainable parameters.
struct AdaptedModel {
  std::shared_ptr<Graph> graph;
  std::vector<Program> programs;
  std::shared_ptr<VariableStore> store;
  std::vector<std::string> matrices;  // names of the adapted matrices, in declaration order
};

/// Copies `programs` (all over one graph, before passes) into a new graph with adapters, and
/// creates a new store that shares the tensors of `store`. The adapters are not in the new store
/// yet; a Session initialises them. Matrices that can have adapters are parameters with two axes
/// that the programs only multiply by, either f32 or quantised by quantize(). Gradients flow
/// through quantised matrices, and only the adapters are trained (Dettmers et al. 2023, "QLoRA").
/// For fine-tuning, pass a program whose output is the loss, then add a training step for the
/// copy's parameters.
///
/// Throws ArgumentError if an option is out of range, if a pattern matches no such matrix (the
/// message lists the matrices), or if a program updates parameters.
AdaptedModel add_lora(const std::vector<Program>& programs, const VariableStore& store,
                      const LoraOptions& options = {});

/// The values of adapters, without the model.
struct LoraAdapters {
  /// The adapter of one matrix or of the lookups of one table.
  struct Adapter {
    Tensor a = {}, b = {};  // f32 [rank, inputs], [outputs, rank]
    /// Scale of this adapter, if it is not that of the others.
    std::optional<double> scale = {};
  };
  double scale = 1;                              // alpha / rank
  std::map<std::string, Adapter> adapters = {};  // keyed by matrix name
  /// Fingerprint of the values of the matrices that the adapters were trained with. It is stored in
  /// adapter files and is empty if unknown.
  std::string base = {};
  /// The matrices that were quantised during training, and their formats.
  std::map<std::string, WeightFormat, std::less<>> quantized = {};
  /// Adapters of lookups, keyed by table name.
  std::map<std::string, Adapter> lookups = {};

  /// Returns the scale of one of the adapters.
  double scale_of(const Adapter& adapter) const { return adapter.scale.value_or(scale); }
};

/// Returns the adapters in the store of an adapted model. Throws GraphError if any are missing.
LoraAdapters lora_adapters(const std::vector<std::string>& matrices, const VariableStore& store,
                           const LoraOptions& options);

/// Adapters with their values, and parameters that were trained as a whole, such as a new head.
struct TrainedAdapters {
  LoraOptions options = {};  // `patterns` and `tied` are not used: the names are in `values`
  LoraAdapters values = {};
  /// Values that replace those of the model, by parameter name.
  std::map<std::string, Tensor, std::less<>> parameters = {};
};

/// Like add_lora() above, with the values of trained adapters. The replaced parameters are
/// trainable too; quantised ones among them become f32. Throws ArgumentError if an adapter or a
/// parameter does not match its shape in the model; the message names both.
AdaptedModel add_lora(const std::vector<Program>& programs, const VariableStore& store,
                      const TrainedAdapters& adapters);

/// Returns the f32 matrix W + scale * B A, or W + scale * (B A)^T if `out_in` is false, so that W
/// is [inputs, outputs]. The sizes must match.
Tensor merged_lora(const Tensor& matrix, bool out_in, const LoraAdapters::Adapter& adapter,
                   double scale);

/// Adds scale * B A to each adapted matrix of `store`, or the transpose of this product if the
/// programs use the matrix as [inputs, outputs]. The model without adapters then computes the same
/// function as the adapted model. Throws ArgumentError, before anything is changed, if there is no
/// matrix for an adapter, if an adapter does not match the shape of its matrix (the message names
/// both), or if the programs use a matrix both for products and for lookups, of which an adapter
/// changes only one.
void merge_lora(const std::vector<Program>& programs, VariableStore& store,
                const LoraAdapters& adapters);

}  // namespace weft
