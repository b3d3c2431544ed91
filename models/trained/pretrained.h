// Trained models as the start of new ones, read from a .weft file or a Hugging Face folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/graph/weights/quantized_weights.h"
#include "weft/models/families/family_config.h"
#include "weft/models/hf/origin.h"
#include "weft/models/tokenizers/folder.h"
#include "weft/models/trained/image_normalisation.h"
#include "weft/serialization/checkpoint.h"

namespace WEFT_API weft {

/// Attachment with the head options of similarity models.
inline constexpr const char* kSimilarityPart = "model.similarity";

struct Pretrained {
  std::string source;  // the path
  /// Description for messages: "a GPT2LMHeadModel (model_type \"gpt2\")".
  std::string about = {};
  FamilyConfig config = {};
  /// Parameters and buffers, heads included, by their names in Weft.
  TensorMap weights = {};
  /// Quantised matrices. For such a matrix W, `weights` has, for example, W.q and W.scale.
  QuantizedWeights quantized = {};
  bool narrow_caches = false;  // keys and values of decoding are cached as bf16
  FolderTokenizer text = {};   // the tokenizer, or the reason why there is none
  /// Class names of a classifier; empty if there are none.
  std::vector<std::string> classes = {};
  /// Head options of a text classifier, if its file has them.
  std::optional<Attachment> head = {};
  /// Head options of a similarity model, if its file has them.
  std::optional<Attachment> similarity = {};
  /// Normalisation of the images that the model was trained on.
  std::optional<ImageNormalisation> normalisation = {};
  /// Activation of the hidden layer in the head of text classifiers, in the transformers classes of
  /// this model type.
  Activation pooler = Activation::tanh;
  /// For folders, and for files of models that came from one.
  std::optional<hf::FolderOrigin> origin = {};

  /// Returns the config. Throws FormatError that names the actual family if the model is of another
  /// family than `Config`.
  template <class Config>
  const Config& config_of() const {
    const Config* found = std::get_if<Config>(&config);
    if (found == nullptr) wrong_family(family_name(FamilyConfig(Config{})));
    return *found;
  }
  /// Returns the tokenizer. Throws FormatError if there is none, or none that Weft can read.
  const Tokenizer& tokenizer() const;

 private:
  [[noreturn]] void wrong_family(std::string_view wanted) const;
};

/// Reads a model from a .weft file of any task, or from a Hugging Face folder of any class that
/// Weft supports. From a folder, also reads the tokenizer (for example a SentencePiece BPE model in
/// spiece.model) and preprocessor_config.json, if they exist. Throws IoError; FormatError;
/// ArgumentError for an unsupported config, and for weights that training cannot start from. These
/// are weights with adapters, which must be merged first, and quantised weights, unless `quantized`
/// is set because adapters are to be trained on them.
Pretrained load_pretrained(const std::string& path, bool quantized = false);

}  // namespace weft
