// Builds the graph of a Hugging Face model from its config.json. Inputs, outputs and the tensors in
// files have the names of Hugging Face transformers; the variables of the graph have Weft's names.
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
#include "weft/models/hf/file_layout.h"
#include "weft/models/hf/name_map.h"
#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {
class EncoderDecoder;
}

namespace WEFT_API weft {
namespace hf {

/// Dtypes and sizes of model inputs, keyed by their Hugging Face names ("input_ids", ...).
using InputTypes = std::map<std::string, std::pair<DType, Sizes>>;
/// Returns the dtypes and sizes of tensors.
InputTypes input_types(const TensorMap& tensors);
/// Values of model inputs, keyed by their Hugging Face names.
using InputValues = std::map<std::string, Value, std::less<>>;

/// Properties of the heads of a Hugging Face class that are not part of a family's config.
struct HeadFacts {
  MaskedLmOptions masked_lm = {};
  /// Activation of the hidden layer in the head of a text classifier.
  Activation pooler = Activation::tanh;
  std::int64_t stride = 0;  // stride of the pixel head (vision transformers)

  friend bool operator==(const HeadFacts&, const HeadFacts&) = default;
};

/// Names of modules in files of earlier versions, in order, and the names that replace them. A name
/// covers whole parts between dots, and only the first match in a tensor's name is replaced. If a
/// module has several new names, its parameters are cut into equal parts along the first axis.
using OlderNames = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// A model whose inputs are values of a graph.
struct Model {
  std::string model_type;    // for example "bert"
  std::string architecture;  // for example "BertForMaskedLM"
  std::string config;        // the config.json from which the model was built
  /// Values by their Hugging Face names: "logits", "last_hidden_state", "hidden.0", ..., and "loss"
  /// if the inputs include labels. The values have the same names in the graph.
  std::map<std::string, Value> outputs;
  /// Mask of the meaningful output rows of models with causality or windows (their attention_mask).
  /// Undefined if all rows are meaningful.
  Value valid_rows;
  NameMap names;
  FileLayouts layouts;  // parameters that are not exactly one tensor of a file
  OlderNames older_names;
  /// The network for generation if the class is an encoder-decoder with a head, else null.
  std::shared_ptr<const EncoderDecoder> encoder_decoder;
  /// The config with which the model was built. Empty for a part of a model, such as T5's encoder.
  std::optional<FamilyConfig> family = {};
  HeadFacts heads = {};
  /// Prefix of the base model's tensor names in files of classes with a head, for example "bert.".
  /// Files of the base class do not use it. match_weights() accepts both kinds of files.
  std::string base_prefix;
  /// Name suffixes of tensors that files may contain but that the model does not use: buffers, and
  /// the heads of other classes. May contain stars, as in "pooler.*".
  std::set<std::string> unused_buffers;
};

/// Builds the model that `config` (the contents of a config.json) describes. Declares graph inputs
/// with the given dtypes and ranks; their batch and sequence axes are symbolic. `architecture` is a
/// Hugging Face class; the default is the first class in the config. Throws an ArgumentError that
/// names the model type, class, config key or input if it is not supported.
Model build_model(Graph& graph, const std::string& config, const InputTypes& inputs,
                  const std::string& architecture = {},
                  SourceLocation loc = SourceLocation::current());

/// As above, but the inputs are existing values of the graph, which may be computed or have other
/// names. For example, "input_ids" [batch, seq] may be a graph input named "tokens". Masked
/// language models also accept "picks" i32 [picks], positions in the flattened [batch * seq]
/// tokens. The logits are then [picks, vocab], and the product with the vocabulary is computed for
/// these positions only.
Model build_model_over(Graph& graph, const std::string& config, const InputValues& inputs,
                       const std::string& architecture = {},
                       SourceLocation loc = SourceLocation::current());

/// Returns the first class in the `architectures` of `config`, or "" if there is none.
std::string architecture_of(const std::string& config);

/// Returns how a classifier interprets its labels according to `config`, for example "regression",
/// or "" if the config does not specify it.
std::string problem_type(const std::string& config);

/// Returns the smallest inputs with which the class in `config` can be built: one row with one
/// token, or one image. Throws FormatError if `config` is not a JSON object, or if its number of
/// channels or image size is invalid.
InputTypes minimal_inputs(const std::string& config);

/// Returns the model types that build_model supports.
std::vector<std::string> supported_model_types();

/// Matches the tensors of a file with the variables of the model. Translates names, accepts tied
/// tensors under any of their names and names with and without the prefix of the base model, widens
/// narrower floats except bf16 tensors of the variables `keep_bf16`, and ignores unused buffers and
/// the heads of other classes.
/// Throws a single FormatError that lists all missing tensors, unexpected tensors and wrong shapes,
/// by the names in the file.
std::vector<std::pair<Variable, Tensor>> match_weights(const Model& model, Graph& graph,
                                                       const TensorMap& tensors,
                                                       std::string_view source,
                                                       std::set<std::string> keep_bf16 = {});

/// Converts parameters, or other tensors of the same sizes such as gradients, from Weft's names and
/// layouts to those of files.
TensorMap file_tensors(const Model& model, TensorMap tensors);

/// Returns the parameters and buffers in a store as files contain them, keyed by their Hugging Face
/// names.
TensorMap export_weights(const Model& model, const Graph& graph, const VariableStore& store);

}  // namespace hf
}  // namespace weft
