// Encoders from Hugging Face folders, with the same inputs as encoders trained by Weft.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/families/encoder_config.h"
#include "weft/models/hf/folder.h"
#include "weft/models/inputs/text_reader.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"

namespace WEFT_API weft {

/// An encoder of a transformers class, with a graph built by models/hf. The inputs have the same
/// names as in models trained by Weft: "tokens" and "mask" i32 [batch, seq] and, for pairs of texts
/// if the encoder has token types, "token_types" i32 [batch, seq].
struct FolderEncoder {
  EncoderConfig config;
  Tokenizer tokenizer;
  std::optional<TextReading> reading;
  Value mask;       // the input "mask"
  hf::Model model;  // includes the outputs, for example "logits"
  /// The outputs of layers that compute no padding, which read the input "token_places" i64
  /// [tokens]. Empty unless FolderUse::unpadded is set and the encoder supports it.
  std::map<std::string, Value> unpadded = {};
  std::shared_ptr<VariableStore> store;

  Value output(const std::string& name) const { return model.outputs.at(name); }
  /// Moves the members that are common to all encoder models into a model.
  template <class Model>
  void into(Model& made) {
    made.config = std::move(config);
    made.tokenizer = std::move(tokenizer);
    made.reading = std::move(reading);
    made.store = std::move(store);
  }
};

/// Requirements for the encoder in a folder.
struct FolderUse {
  std::vector<std::string_view> endings = {};  // accepted class-name endings; empty: any class
  bool pairs = false;                          // the encoder must also accept text pairs
  hf::InputValues more = {};                   // other inputs of the class
  bool unpadded = false;                       // also build layers that compute no padding
  /// Only the hidden states are used. As in the base class, no token has global attention.
  bool embeds = false;
};
/// Builds the encoder in a folder in `graph` and loads its weights. Returns nullopt if the model
/// class is not an encoder or does not match `use`. Throws ArgumentError if the config is not
/// supported or if the tokenizer has more ids than the embedding table has rows. Throws FormatError
/// if there is no tokenizer. Also throws the same exceptions as hf::load_weights.
std::optional<FolderEncoder> read_folder_encoder(Graph& graph, const hf::Folder& folder,
                                                 const FolderTokenizer& text, const FolderUse& use);

/// Returns the end at which the tokenizer of a folder truncates texts: truncation_side of
/// tokenizer_config.json, by default the direction in tokenizer.json, as in transformers.
TextEnd truncation_side(const hf::Folder& folder, const Tokenizer& tokenizer);

/// Returns the tokenizer of a folder. If there is none, throws a FormatError that gives the reason.
const Tokenizer& require_tokenizer(const FolderTokenizer& text);

/// Returns the names of `count` labels from a folder's config. If the config contains no names,
/// returns the defaults of transformers: "LABEL_0", "LABEL_1", ... Throws the same exceptions as
/// hf::class_names, and FormatError if the config has another number of names.
std::vector<std::string> label_names(const std::string& config, std::int64_t count);

}  // namespace weft
