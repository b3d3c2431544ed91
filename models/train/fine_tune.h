// Fine-tuning of any model: start from trained weights with a new head, keep some of them, let the
// lower layers learn slower. Patterns are names with * and ? as in a shell: "layers.0.*", "*.bias".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/autodiff/optimizer.h"
#include "weft/graph/run/variable_store.h"
#include "weft/serialization/checkpoint.h"

namespace weft {

/// Trained parameters (and buffers) under Weft's names: those of a .weft file, or of a folder of
/// Hugging Face's library, whose class may be any (heads and all). Throws IoError, FormatError,
/// ArgumentError as their loaders do.
TensorMap pretrained_parameters(const std::string& path);

/// What a model took over, by name.
struct StartReport {
  std::vector<std::string> taken;   // from the weights
  std::vector<std::string> fresh;   // in the model only: start anew
  std::vector<std::string> unused;  // in the weights only

  /// For people: counts, and the names of what is new and what is not used.
  std::string str() const;
};

/// Gives the parameters and buffers of `graph` that `weights` has by name (or alias) these values,
/// in a store that has none of them yet; the others start as always. Throws one FormatError that
/// lists all whose shapes or dtypes do not fit, and one where nothing is taken over; `source` names
/// the weights in it. Parameters that match one of `anew` start anew though there are weights: a
/// head for other classes.
StartReport start_from(VariableStore& store, const Graph& graph, const TensorMap& weights,
                       std::string_view source, const std::vector<std::string>& anew = {});

/// Makes the parameters that match a pattern constant: to be called before the training step is
/// added. Returns their names. A pattern that matches none is an ArgumentError that says what names
/// there are.
std::vector<std::string> freeze(Graph& graph, const std::vector<std::string>& patterns);

/// Layer-wise learning rates (Howard and Ruder 2018): the trainable parameters of the graph in one
/// group per layer. What stands above the layers learns at the full rate, layer i of n at
/// decay^(n - i), embeddings and whatever else stands below at decay^(n + 1). A layer is known by
/// the first number in its name ("layers.3.norm.weight", "transformer.h.3.ln_1.bias"); of those
/// without one, the names that were declared before the first layer stand below. `decay` is in (0,
/// 1] (ArgumentError), 1 is one rate for all.
std::vector<ParameterGroup> layer_groups(const Graph& graph, double decay);

/// How a model that starts from trained weights learns.
struct FineTuneOptions {
  std::vector<std::string> freeze = {};  // patterns of parameters that stay as they are
  double layer_lr_decay = 1;             // layer_groups() says more
};

}  // namespace weft
