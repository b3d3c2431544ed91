// Models of Hugging Face folders: from config.json to a graph, with the names of that library on
// the outside (inputs, outputs, parameters of its files) and Weft's inside.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "weft/graph/ir/graph.h"
#include "weft/models/families/encoder_heads.h"
#include "weft/models/families/family_config.h"
#include "weft/models/hf/name_map.h"
#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {
class EncoderDecoder;
}

namespace WEFT_API weft {
namespace hf {

/// What the inputs of a model are: dtypes and sizes by the library's names ("input_ids", ...).
using InputTypes = std::map<std::string, std::pair<DType, Sizes>>;
InputTypes input_types(const TensorMap& tensors);
/// Values that a model reads, by the library's names of inputs.
using InputValues = std::map<std::string, Value, std::less<>>;

/// What a class has in its heads that is in no family's config.
struct HeadFacts {
  MaskedLmOptions masked_lm = {};
  /// Of the hidden layer that stands in front of a classifier of texts.
  Activation pooler = Activation::tanh;
  std::int64_t stride = 0;  // of a vision transformer's head that makes pixels

  friend bool operator==(const HeadFacts&, const HeadFacts&) = default;
};

/// A model over inputs of a graph.
struct Model {
  std::string model_type;    // "bert"
  std::string architecture;  // "BertForMaskedLM"
  std::string config;        // the config.json it was built from
  /// Values by the library's names: "logits", "last_hidden_state", "hidden.0", ... and, where the
  /// inputs hold labels, "loss". The graph knows them by these names, too.
  std::map<std::string, Value> outputs;
  /// Where rows of a causal model's outputs mean something (its attention_mask), or undefined: all.
  Value valid_rows;
  NameMap names;
  /// What generates, where the class is an encoder-decoder with a head; else null.
  std::shared_ptr<const EncoderDecoder> encoder_decoder;
  /// What it is made of; empty for a part of one, as T5's encoder alone.
  std::optional<FamilyConfig> family = {};
  HeadFacts heads = {};
  /// Ends of names of buffers that files may hold and that the model has no use for.
  std::set<std::string> unused_buffers;
};

/// Builds the model that `config` (the text of a config.json) describes, over graph inputs that are
/// declared with the given types, the axes for batch and sequence being symbols. `architecture` is
/// one of the library's classes; by default the first of the config. Throws ArgumentError for a
/// model type, class, key of the config or input that is not supported, naming it.
Model build_model(Graph& graph, const std::string& config, const InputTypes& inputs,
                  const std::string& architecture = {},
                  SourceLocation loc = SourceLocation::current());

/// The same over values of the graph, which may be computed or have other names: "input_ids"
/// [batch, seq] may be an input "tokens". Masked language models also take "picks" i32 [picks],
/// places in the flattened [batch * seq] tokens: their logits are [picks, vocab] then, and only
/// picked places pay for the product with the vocabulary.
Model build_model_over(Graph& graph, const std::string& config, const InputValues& inputs,
                       const std::string& architecture = {},
                       SourceLocation loc = SourceLocation::current());

/// The class that `config` names first; empty where it names none.
std::string architecture_of(const std::string& config);

/// What `config` says that the labels of a classifier are ("regression"); empty where it does not.
std::string problem_type(const std::string& config);

/// Inputs that are enough to build the class that `config` names: one row of one token, one image.
/// Throws FormatError where it states no model type, or sizes of images that are none.
InputTypes least_inputs(const std::string& config);

/// The model types that build_model knows.
std::vector<std::string> supported_model_types();

/// The tensors of a file as variables of the model: translated names, tied tensors under any of
/// their names, shorter floats widened, unused buffers left out. Throws one FormatError that lists
/// everything missing, unexpected and misshapen by the names in the file.
std::vector<std::pair<Variable, Tensor>> match_weights(const Model& model, Graph& graph,
                                                       const TensorMap& tensors,
                                                       std::string_view source);

/// The parameters and buffers of a store under the names of the library: what its files hold.
TensorMap export_weights(const Model& model, const Graph& graph, const VariableStore& store);

}  // namespace hf
}  // namespace weft
