// Trained models that new training runs start from, read from a .weft file, a Hugging Face folder
// or a GGUF file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/graph/weights/quantized_weights.h"
#include "weft/models/data/images/image_geometry.h"
#include "weft/models/families/family_config.h"
#include "weft/models/fields/model_path.h"
#include "weft/models/generate/settings.h"
#include "weft/models/hf/origin.h"
#include "weft/models/inputs/image_normalisation.h"
#include "weft/models/inputs/text_reader.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

/// Name of the attachment with the head options of a similarity model.
inline constexpr const char* kSimilarityPart = "model.similarity";
/// Name of the attachment with the config of the decoder that a text encoder consists of.
inline constexpr const char* kDecoderPart = "model.decoder";

/// Attachment type of the config of a network (NetworkConfig).
inline constexpr const char* kNetworkConfig = "weft.config.network";

struct Pretrained {
  std::string source;  // the path of the file or folder
  /// Description for messages: "a GPT2LMHeadModel (model_type \"gpt2\")".
  std::string about = {};
  FamilyConfig config = {};
  /// Parameters and buffers, including those of heads, by their names in Weft.
  TensorMap weights = {};
  /// Quantised matrices. For such a matrix W, `weights` contains, for example, W.q and W.scale.
  QuantizedWeights quantized = {};
  CacheFormat caches = CacheFormat::f32;  // format of cached keys and values
  FolderTokenizer text = {};              // the tokenizer, or the reason why it is missing
  /// Class names of a classifier; empty if there are none.
  std::vector<std::string> classes = {};
  /// Head options of a text classifier, if its file has them.
  std::optional<Attachment> head = {};
  /// Head options of a similarity model, if its file has them.
  std::optional<Attachment> similarity = {};
  /// Normalisation of the training images.
  std::optional<ImageNormalisation> normalisation = {};
  /// Conversion of pictures to the image size of the model.
  std::optional<ImageGeometry> geometry = {};
  /// Log-mel settings of a speech recogniser, if its file has them. `origin` contains the settings
  /// of folders.
  std::optional<Attachment> speech = {};
  /// Activation of the hidden layer in text classifier heads; depends on the transformers model
  /// type.
  Activation pooler = Activation::tanh;
  /// Generation settings, if a .weft file has them. folder_settings() returns those of a folder.
  std::optional<GenerationSettings> generation = {};
  std::vector<std::string> ignored_keys = {};  // of the folder, see ModelPath
  /// How texts are encoded, if a file specifies it.
  std::optional<TextReading> reading = {};
  /// Set for folders, and for files of models that were converted from a folder.
  std::optional<hf::FolderOrigin> origin = {};

  /// True if the file has a graph but no config of a family: an ONNX file of another
  /// program, or a network that was fine-tuned. Its task reads the file itself
  /// (read_image_network), and no other member than `source` and `about` is set.
  bool is_network = false;

  /// Returns the config. If the model family is not that of `Config`, throws a FormatError that
  /// names the actual family.
  template <class Config>
  const Config& config_of() const {
    const Config* found = is_network ? nullptr : std::get_if<Config>(&config);
    if (found == nullptr) wrong_family(family_name(FamilyConfig(Config{})));
    return *found;
  }
  /// Returns the tokenizer. Throws FormatError if there is no tokenizer, or if Weft cannot read it.
  const Tokenizer& tokenizer() const;

 private:
  [[noreturn]] void wrong_family(std::string_view wanted) const;
};

/// Reads a model from a .weft file of any task, from a Hugging Face folder of any class that Weft
/// supports, from an ONNX file that Weft wrote (save_onnx), or from a GGUF file, with weights
/// widened to f32 unless `quantized` is set. For a folder, also reads the tokenizer (for example a
/// SentencePiece BPE model in spiece.model) and preprocessor_config.json, if they exist. Throws
/// IoError or FormatError if a file cannot be read. Throws ArgumentError if the config is not
/// supported, or if training cannot start from the weights. Adapters must be merged into the
/// weights first. Quantised weights are accepted only if `quantized` is set, which is meant for
/// training adapters on them.
Pretrained load_pretrained(const ModelPath& path, bool quantized = false);

}  // namespace weft
