// Encoders of Hugging Face's folders, over the inputs that models which Weft trained have.
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

/// What there is of one of the library's classes: its graph is what models/hf builds, its inputs
/// are called as those of models that Weft trained: "tokens" and "mask" i32 [batch, seq], and, of
/// classes that read pairs and tell them apart, "token_types" i32 [batch, seq].
struct FolderEncoder {
  EncoderConfig config;
  Tokenizer tokenizer;
  std::optional<TextReading> reading;
  Value mask;       // the input
  hf::Model model;  // its outputs: "logits", say
  std::shared_ptr<VariableStore> store;

  Value output(const std::string& name) const { return model.outputs.at(name); }
  /// The parts that kinds of encoders have in common go into a model.
  template <class Model>
  void into(Model& made) {
    made.config = std::move(config);
    made.tokenizer = std::move(tokenizer);
    made.reading = std::move(reading);
    made.store = std::move(store);
  }
};

/// What is wanted of a folder.
struct FolderUse {
  std::vector<std::string_view> endings = {};  // of the names of classes; none: any class
  bool pairs = false;                          // of texts, also
  hf::InputValues more = {};                   // what the class takes besides texts
};
/// The encoder of a folder in `graph`, with its weights. Nothing where the config's class is not
/// one that is wanted, or no encoder's. Throws ArgumentError for a config that is not supported and
/// for a tokenizer that does not fit the table of tokens, FormatError where there is no tokenizer,
/// and as hf::load_weights.
std::optional<FolderEncoder> read_folder_encoder(Graph& graph, const hf::Folder& folder,
                                                 const FolderTokenizer& text, const FolderUse& use);

/// The tokenizer of a folder. Throws FormatError that says why there is none.
const Tokenizer& require_tokenizer(const FolderTokenizer& text);

/// What a folder's config calls `count` labels; where it does not, what the library does:
/// "LABEL_0".
std::vector<std::string> label_names(const std::string& config, std::int64_t count);

}  // namespace weft
