#include "weft/models/text/tokenizers/folder_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "weft/models/text/tokenizers/formats/fields.h"
#include "weft/models/text/tokenizers/formats/sentence_piece_folder.h"
#include "weft/serialization/files/strict_json.h"

namespace weft {
namespace {

constexpr const char* kConfig = "tokenizer_config.json";
constexpr const char* kSpecial = "special_tokens_map.json";
constexpr const char* kAdded = "added_tokens.json";

std::string text_of(const OrderedJson& json) { return json.dump(2) + "\n"; }

/// Returns the names of the special tokens: {"pad_token": "<pad>", ...}.
OrderedJson special_names(const Tokenizer& tokenizer) {
  OrderedJson names = OrderedJson::object();
  for (const SpecialIdName& special : kSpecialIds) {
    const std::int32_t id = tokenizer.special().*special.id;
    if (id >= 0) names[fmt::format("{}_token", special.name)] = tokenizer.piece(id);
  }
  return names;
}

/// Sets the names of all special tokens in the contents of a settings file.
std::string with_names(const std::string& text, const Tokenizer& tokenizer) {
  OrderedJson settings = OrderedJson::parse(text);
  const OrderedJson names = special_names(tokenizer);
  for (const auto& [key, name] : names.items()) settings[key] = name;
  return text_of(settings);
}

/// Returns the tokenizer class named in `origin`, or "" if there is none.
std::string class_of(const FolderTexts& origin) {
  const auto found = origin.find(kConfig);
  if (found == origin.end()) return {};
  const nlohmann::json config = parse_json_object(found->second, kConfig);
  const auto name = config.find("tokenizer_class");
  return name != config.end() && name->is_string() ? name->get<std::string>() : std::string();
}

/// Returns a tokenizer.json that splits texts into characters and looks up each character.
std::string characters_json(const CharacterTokenizer& tokenizer) {
  OrderedJson file, vocab = OrderedJson::object(), added = OrderedJson::array();
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    vocab[tokenizer.piece(id)] = id;
    if (!tokenizer.is_special(id)) continue;
    added.push_back({{"id", id},
                     {"content", tokenizer.piece(id)},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  }
  file["version"] = "1.0";
  file["truncation"] = file["padding"] = nullptr;
  file["added_tokens"] = added;
  file["normalizer"] = nullptr;
  file["pre_tokenizer"] = {{"type", "Split"},
                           {"pattern", {{"Regex", R"([\s\S])"}}},
                           {"behavior", "Isolated"},
                           {"invert", false}};
  file["post_processor"] = nullptr;
  file["decoder"] = {{"type", "Fuse"}};
  file["model"] = {{"type", "WordLevel"}, {"vocab", vocab}, {"unk_token", "<unk>"}};
  return file.dump();
}

/// Returns the SentencePiece model file without Weft's id layout.
std::string model_file(SentencePieceModel model) {
  model.layout = {};
  return model.to_bytes();
}

/// Returns true for a token that M2M100's class adds after the ids of vocab.json: "__en__".
bool is_m2m100_language(std::string_view piece) {
  return piece.size() > 4 && piece.starts_with("__") && piece.ends_with("__");
}

void add_pieces(const SentencePieceTokenizer& tokenizer, const SentencePieceFiles& files,
                TokenizerFiles& made) {
  const SentencePieceModel& model = tokenizer.model();
  made.files[files.model] = model_file(model);
  if (!files.has_vocabulary) return;
  if (model.layout.target != nullptr) made.files["target.spm"] = model_file(*model.layout.target);
  const bool marian = files.model == "source.spm";
  OrderedJson ids = OrderedJson::object();
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string piece = tokenizer.piece(id);
    if (marian || !tokenizer.is_special(id) || !is_m2m100_language(piece)) ids[piece] = id;
  }
  made.files["vocab.json"] = ids.dump();
}

/// Copies the side at which the tokenizer of `origin` truncates texts.
void copy_truncation_side(const FolderTexts& origin, OrderedJson& config) {
  const auto text = origin.find(kConfig);
  if (text == origin.end()) return;
  const nlohmann::json source = parse_json_object(text->second, kConfig);
  if (const auto found = source.find("truncation_side"); found != source.end())
    config["truncation_side"] = *found;
}

}  // namespace

TokenizerFiles tokenizer_files(const Tokenizer& tokenizer, const FolderTexts& origin,
                               KeptSettings kept, std::string_view model_type,
                               std::int64_t longest) {
  TokenizerFiles made;
  for (const char* name : {kConfig, kSpecial, kAdded}) {
    const auto found = origin.find(name);
    if (kept != KeptSettings::none && found != origin.end()) made.files.insert(*found);
  }
  const bool is_new = made.files.empty();
  for (const char* name : {kConfig, kSpecial}) {
    if (const auto file = made.files.find(name);
        file != made.files.end() && kept == KeptSettings::with_names)
      file->second = with_names(file->second, tokenizer);
  }
  OrderedJson config = special_names(tokenizer);
  config["model_max_length"] = longest;
  tokenizer.visit([&](const auto& kind) {
    using Kind = std::decay_t<decltype(kind)>;
    if constexpr (std::is_same_v<Kind, SentencePieceTokenizer>) {
      add_pieces(kind, sentence_piece_files(class_of(origin), model_type), made);
      if (is_new) {
        made.note =
            "no tokenizer class of Hugging Face's library is known to tokenize in the same way as "
            "this "
            "SentencePiece model in weft. The folder therefore names no class, and the library "
            "will use "
            "the default class of the model type";
      }
    } else if constexpr (std::is_same_v<Kind, SubwordTokenizer>) {
      made.files["tokenizer.json"] = kind.to_hugging_face_json();
      config["tokenizer_class"] = "PreTrainedTokenizerFast";
    } else {
      made.files["tokenizer.json"] = characters_json(kind);
      config["tokenizer_class"] = "PreTrainedTokenizerFast";
    }
  });
  if (is_new) {
    copy_truncation_side(origin, config);
    made.files[kConfig] = text_of(config);
    made.files[kSpecial] = text_of(special_names(tokenizer));
  }
  return made;
}

}  // namespace weft
