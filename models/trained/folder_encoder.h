// Encoders from Hugging Face folders, with the same inputs as encoders that Weft trained.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/families/encoder_config.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tokenizers/folder.h"
#include "weft/models/trained/text_reader.h"

namespace WEFT_API weft {

/// A model of a transformers class. models/hf builds its graph. Its inputs have the names that they
/// have in models that Weft trained: "tokens" and "mask" i32 [batch, seq] and, for pairs of texts
/// if the encoder has token types, "token_types" i32 [batch, seq].
struct FolderEncoder {
  EncoderConfig config;
  Tokenizer tokenizer;
  std::optional<TextReading> reading;
  Value mask;       // the input
  hf::Model model;  // with its outputs, for example "logits"
  std::shared_ptr<VariableStore> store;

  Value output(const std::string& name) const { return model.outputs.at(name); }
  /// Moves the members that all kinds of encoders share into a model.
  template <class Model>
  void into(Model& made) {
    made.config = std::move(config);
    made.tokenizer = std::move(tokenizer);
    made.reading = std::move(reading);
    made.store = std::move(store);
  }
};

/// Requirements on the encoder of a folder.
struct FolderUse {
  std::vector<std::string_view> endings = {};  // of accepted class names; empty: any class
  bool pairs = false;                          // the encoder must also read pairs of texts
  hf::InputValues more = {};                   // inputs of the class other than texts
};
/// Builds the encoder of a folder in `graph` and loads its weights. Returns nullopt if the class of
/// the folder does not match `use`, or is not an encoder. Throws ArgumentError for an unsupported
/// config and for a tokenizer with more ids than the embedding table has rows, FormatError if there
/// is no tokenizer, and as hf::load_weights.
std::optional<FolderEncoder> read_folder_encoder(Graph& graph, const hf::Folder& folder,
                                                 const FolderTokenizer& text, const FolderUse& use);

/// Returns the tokenizer of a folder. Throws FormatError with the reason if there is none.
const Tokenizer& require_tokenizer(const FolderTokenizer& text);

/// Returns the names of `count` labels from the config of a folder or, if it does not have that
/// number of names, the defaults of transformers: "LABEL_0", ...
std::vector<std::string> label_names(const std::string& config, std::int64_t count);

}  // namespace weft
