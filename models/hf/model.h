// Models of Hugging Face folders: builds a graph from config.json. Inputs, outputs and the tensors
// of files have the names of Hugging Face transformers; the variables of the graph have Weft's
// names.
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

/// Dtypes and sizes of the inputs of a model by their Hugging Face names ("input_ids", ...).
using InputTypes = std::map<std::string, std::pair<DType, Sizes>>;
/// Returns the dtypes and sizes of tensors.
InputTypes input_types(const TensorMap& tensors);
/// Values of the inputs of a model by their Hugging Face names.
using InputValues = std::map<std::string, Value, std::less<>>;

/// Properties of the heads of a class that are not part of a family's config.
struct HeadFacts {
  MaskedLmOptions masked_lm = {};
  /// Activation of the hidden layer before a text classifier.
  Activation pooler = Activation::tanh;
  std::int64_t stride = 0;  // of the pixel head of a vision transformer

  friend bool operator==(const HeadFacts&, const HeadFacts&) = default;
};

/// A model over inputs of a graph.
struct Model {
  std::string model_type;    // "bert"
  std::string architecture;  // "BertForMaskedLM"
  std::string config;        // the config.json it was built from
  /// Values by their Hugging Face names: "logits", "last_hidden_state", "hidden.0", ... and "loss"
  /// if the inputs include labels. The values have these names in the graph, too.
  std::map<std::string, Value> outputs;
  /// Mask of the output rows of a causal model that are meaningful (its attention_mask); undefined
  /// if all are.
  Value valid_rows;
  NameMap names;
  /// The network for generation if the class is an encoder-decoder with a head; else null.
  std::shared_ptr<const EncoderDecoder> encoder_decoder;
  /// The config that the model was built with; empty for a part of a model, such as T5's encoder.
  std::optional<FamilyConfig> family = {};
  HeadFacts heads = {};
  /// Suffixes of the names of buffers that files may contain but the model does not use.
  std::set<std::string> unused_buffers;
};

/// Builds the model that `config` (the text of a config.json) describes. Declares graph inputs with
/// the given types; their batch and sequence axes are symbols. `architecture` is a Hugging Face
/// class, by default the first one in the config. Throws an ArgumentError that names a model type,
/// class, config key or input that is not supported.
Model build_model(Graph& graph, const std::string& config, const InputTypes& inputs,
                  const std::string& architecture = {},
                  SourceLocation loc = SourceLocation::current());

/// As above, but with values of the graph as inputs, which may be computed or have other names:
/// "input_ids" [batch, seq] may be an input "tokens". Masked language models also accept "picks"
/// i32 [picks], positions in the flattened [batch * seq] tokens. Their logits are then [picks,
/// vocab], and the product with the vocabulary is computed for these positions only.
Model build_model_over(Graph& graph, const std::string& config, const InputValues& inputs,
                       const std::string& architecture = {},
                       SourceLocation loc = SourceLocation::current());

/// Returns the first class that `config` names, or "" if it names none.
std::string architecture_of(const std::string& config);

/// Returns how a classifier interprets its labels according to `config` ("regression"), or "" if
/// this is not stated.
std::string problem_type(const std::string& config);

/// Returns minimal inputs with which the class that `config` names can be built: one row of one
/// token, or one image. Throws FormatError if `config` is not a JSON object, or if its number of
/// channels or image size is invalid.
InputTypes minimal_inputs(const std::string& config);

/// Returns the model types that build_model supports.
std::vector<std::string> supported_model_types();

/// Matches the tensors of a file with the variables of the model: translates names, accepts tied
/// tensors under any of their names, widens narrower floats, and ignores unused buffers. Throws one
/// FormatError that lists all missing and unexpected tensors and all wrong shapes, by the names in
/// the file.
std::vector<std::pair<Variable, Tensor>> match_weights(const Model& model, Graph& graph,
                                                       const TensorMap& tensors,
                                                       std::string_view source);

/// Returns the parameters and buffers of a store by their Hugging Face names, as files contain
/// them.
TensorMap export_weights(const Model& model, const Graph& graph, const VariableStore& store);

}  // namespace hf
}  // namespace weft
