// A trained model to start others from: of any .weft file, or of a folder of Hugging Face's
// library.
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

/// Of files of models that compare texts.
inline constexpr const char* kSimilarityPart = "model.similarity";

struct Pretrained {
  std::string source;      // the path
  std::string about = {};  // what is there, for messages: "a GPT2LMHeadModel (model_type \"gpt2\")"
  FamilyConfig config = {};
  TensorMap weights = {};  // parameters and buffers, heads included, by Weft's names
  /// Matrices that are kept in fewer bits: of W there are W.q and W.scale, say, in `weights`.
  QuantizedWeights quantized = {};
  bool narrow_caches = false;             // keys and values of decoding are kept as bf16
  FolderTokenizer text = {};              // its tokenizer, or why there is none
  std::vector<std::string> classes = {};  // that a classifier's head knows; empty where none are
  std::optional<Attachment> head = {};    // how a classifier reads texts, where its file says so
  std::optional<Attachment> similarity = {};  // how a model compares texts, where its file says so
  std::optional<ImageNormalisation> normalisation = {};  // of the images that it was trained to see
  /// Of the layer in front of a classifier of texts, in the library's classes of that type.
  Activation pooler = Activation::tanh;
  std::optional<hf::FolderOrigin> origin = {};  // of a folder, or of a file that came from one

  /// The config of a model of this family. Throws FormatError that says what is there instead.
  template <class Config>
  const Config& config_of() const {
    const Config* found = std::get_if<Config>(&config);
    if (found == nullptr) wrong_family(family_name(FamilyConfig(Config{})));
    return *found;
  }
  /// Throws FormatError where there is none, or none that Weft reads.
  const Tokenizer& tokenizer() const;

 private:
  [[noreturn]] void wrong_family(std::string_view wanted) const;
};

/// Of a .weft file whatever its task, or of a folder with a model of any class that Weft builds,
/// its tokenizer (a byte-pair model of SentencePiece: spiece.model, say) and its
/// preprocessor_config.json, where there are any. Throws IoError; FormatError; ArgumentError for a
/// config that is not supported, and for files whose weights cannot be started from: those with
/// adapters, which must be merged first, and, unless `quantized` weights are wanted to train
/// adapters beside them, quantised ones.
Pretrained load_pretrained(const std::string& path, bool quantized = false);

}  // namespace weft
