// The settings of a Sentence Transformers model: how texts become vectors.
//
// A folder of Sentence Transformers contains modules.json, a list of modules, and the settings of
// each module. Weft keeps these files with the model (hf::FolderOrigin), and parses them whenever
// vectors are computed. Reference: the classes in
// sentence_transformers/sentence_transformer/modules of
// https://github.com/huggingface/sentence-transformers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/families/token_pooling.h"
#include "weft/models/fields/choice.h"
#include "weft/models/hf/origin.h"

namespace WEFT_API weft {

/// A function that compares two vectors. Greater values mean more similar vectors.
enum class VectorSimilarity : std::uint8_t {
  cosine,
  dot,
  euclidean,  // the negative Euclidean distance
  manhattan,  // the negative sum of absolute differences
};
/// "cosine", "dot", "euclidean", "manhattan".
ChoiceNames choice_names(VectorSimilarity);

/// A module that is applied to the pooled vectors.
struct VectorLayer {
  /// The computation of the module.
  enum class Kind : std::uint8_t {
    dense,       // activation(x W^T + b), plus x if `residual` is set
    layer_norm,  // with eps = 1e-5
    normalise,   // scales the vector to length 1
  };
  Kind kind = Kind::normalise;
  std::string path = {};  // the subfolder of its weights: "2_Dense"
  std::size_t index = 0;  // its position in modules.json
  std::int64_t in = 0, out = 0;
  bool bias = true, residual = false;   // dense only
  std::string activation = "Identity";  // see torch_activation()

  /// Returns the scope of its parameters: "modules.2".
  std::string scope() const { return "modules." + std::to_string(index); }
  bool has_weights() const { return kind != Kind::normalise; }
};

/// All settings that determine the vector of a text.
struct SentenceSettings {
  /// The results of several poolings are concatenated in this order.
  std::vector<TextPooling> poolings = {TextPooling::mean};
  /// If false, the tokens of the prompt are not pooled.
  bool include_prompt = true;
  /// The modules after Pooling, without a Normalize at the end, which sets `normalise`.
  std::vector<VectorLayer> layers = {};
  bool normalise = false;
  /// Number of values to keep of each vector (truncate_dim); 0 = all.
  std::int64_t dimensions = 0;
  /// Maximum number of tokens of a text, including special tokens. Longer texts are truncated. 0:
  /// the context of the model.
  std::int64_t max_tokens = 0;
  bool lower_case = false;  // texts are converted to lower case
  /// Texts that are inserted before every text, by name, and the name of the default prompt.
  std::map<std::string, std::string> prompts = {};
  std::optional<std::string> default_prompt = {};
  VectorSimilarity similarity = VectorSimilarity::cosine;

  /// Returns the number of values in a vector before truncation, for an encoder of this width.
  std::int64_t width(std::int64_t encoder_width) const;
  /// Returns the prompt for a text: `prompt` if it is set, else the prompt with this name, else the
  /// default prompt, which may be empty. Throws ArgumentError if both are set, or if no prompt has
  /// this name (the message lists the names).
  std::string prompt(const std::optional<std::string>& prompt,
                     const std::optional<std::string>& name) const;
};

inline constexpr std::string_view kCrossEncoder = "CrossEncoder";
/// Returns the class of Sentence Transformers in a folder, "SentenceTransformer" by default, or ""
/// if the folder contains neither modules.json nor 1_Pooling/config.json. Throws FormatError if a
/// file is invalid.
std::string sentence_model_class(const hf::FolderOrigin& files);

/// Returns the settings in the files of a folder, or nullopt if the folder neither contains
/// modules.json nor 1_Pooling/config.json. `width` is the width of the encoder, and `place` is the
/// path of the folder for messages. Throws FormatError if a file is invalid or contradicts the
/// encoder, and an ArgumentError that names the module, key or value if it is not supported.
std::optional<SentenceSettings> sentence_settings(const hf::FolderOrigin& files, std::int64_t width,
                                                  const std::string& place = {});

/// Returns the files of a Sentence Transformers folder with one pooling, and with a Normalize
/// module if `normalise` is set: file contents by name.
std::map<std::string, std::string> sentence_files(TextPooling pooling, bool normalise,
                                                  std::int64_t width);

/// Sets prompts, by name, in the file config_sentence_transformers.json of `files`, and keeps all
/// other settings. If the file is missing, a file for cosine similarity without a default prompt is
/// added. Throws FormatError if the file is invalid.
void set_prompts(hf::FolderOrigin& files, const std::map<std::string, std::string>& prompts);

/// Sets the maximum number of tokens of a text (max_seq_length) in the file
/// sentence_bert_config.json of `files`, and keeps all other settings. Throws FormatError if the
/// file is invalid.
void set_token_limit(hf::FolderOrigin& files, std::int64_t max_tokens);

/// Returns the maximum number of tokens that tokenizer_config.json specifies (model_max_length), or
/// 0 if there is none.
std::int64_t tokenizer_limit(const hf::FolderOrigin& files);

}  // namespace weft
