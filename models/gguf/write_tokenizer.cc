#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "weft/core/error.h"
#include "weft/models/gguf/pre_tokenizers.h"
#include "weft/models/gguf/token_types.h"
#include "weft/models/gguf/tokenizer.h"
#include "weft/models/text/tokenizers/subwords/byte_pieces.h"

namespace weft::gguf {
namespace {

using nlohmann::json;

[[noreturn]] void reject(const std::string& what) {
  throw ArgumentError(fmt::format("GGUF has no form for the tokenizer: {}", what));
}

/// The tokens of a file, by id.
struct TokenTable {
  std::vector<std::string> texts;
  std::vector<std::int32_t> types;
  std::vector<float> scores;

  explicit TokenTable(std::int64_t vocab) {
    const auto count = static_cast<std::size_t>(vocab);
    types.assign(count, static_cast<std::int32_t>(TokenType::unused));
    scores.assign(count, 0);
    for (std::int64_t id = 0; id < vocab; ++id) texts.push_back(fmt::format("[PAD{}]", id));
  }
  void set(std::int64_t id, const std::string& text, TokenType type, float score = 0) {
    const auto i = static_cast<std::size_t>(id);
    if (i >= texts.size())
      reject(fmt::format("it has the id {}, but the model has {} ids", id, texts.size()));
    texts[i] = text;
    types[i] = static_cast<std::int32_t>(type);
    scores[i] = score;
  }
  void write(GgufMetadata& metadata, bool with_scores) const {
    metadata.set(kTokens, texts);
    if (with_scores) metadata.set(kScores, scores);
    metadata.set(kTypes, types);
  }
};

TokenType type_of(SentencePieceModel::Kind kind) {
  using Kind = SentencePieceModel::Kind;
  switch (kind) {
    case Kind::normal: return TokenType::normal;
    case Kind::unknown: return TokenType::unknown;
    case Kind::control: return TokenType::control;
    case Kind::symbol: return TokenType::user_defined;
    case Kind::unused: return TokenType::unused;
    case Kind::byte: break;
  }
  return TokenType::byte;
}

void write_pieces(GgufMetadata& metadata, const SentencePieceTokenizer& tokenizer,
                  std::int64_t vocab) {
  const SentencePieceModel& model = tokenizer.model();
  const SentencePieceModel::Normalizer& normalizer = model.normalizer;
  if (model.algorithm != SentencePieceModel::Algorithm::byte_pairs)
    reject("its SentencePiece algorithm is not BPE");
  if (!normalizer.compiled_map.empty() || normalizer.remove_extra_whitespace)
    reject(fmt::format("its normaliser '{}' changes characters or removes whitespace",
                       normalizer.name));
  if (!normalizer.escape_whitespace || model.whitespace_as_suffix ||
      model.layout.preparation != TextPreparation() || model.layout.target != nullptr)
    reject("it treats whitespace or texts in a way that only SentencePiece supports");
  TokenTable table(vocab);
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::int32_t place =
        model.layout.ids.empty() ? id : model.layout.ids[static_cast<std::size_t>(id)];
    if (place < 0) {
      const auto& added = model.layout.added[static_cast<std::size_t>(-1 - place)];
      table.set(id, added.text, added.special ? TokenType::control : TokenType::user_defined);
    } else {
      const auto& piece = model.pieces[static_cast<std::size_t>(place)];
      table.set(id, piece.text, type_of(piece.kind), piece.score);
    }
  }
  metadata.set(kModel, "llama").set(kPre, "default");
  table.write(metadata, true);
  metadata.set(kSpacePrefix, normalizer.dummy_prefix);
}

/// Returns the pieces of a tokenizer.json's merge: a pair or "left right".
std::pair<std::string, std::string> merge_of(const json& merge) {
  if (merge.is_array()) return {merge.at(0).get<std::string>(), merge.at(1).get<std::string>()};
  const auto text = merge.get<std::string>();
  const std::size_t space = text.find(' ', 1);
  return {text.substr(0, space), text.substr(space + 1)};
}

/// Adds the vocabulary and the added tokens of a tokenizer.json.
void add_vocabulary(TokenTable& table, const json& file) {
  for (const auto& [piece, id] : file.at("model").at("vocab").items())
    table.set(id.get<std::int64_t>(), piece, TokenType::normal);
  for (const json& token : file.value("added_tokens", json::array())) {
    table.set(token.at("id").get<std::int64_t>(), token.at("content").get<std::string>(),
              token.value("special", false) ? TokenType::control : TokenType::user_defined);
  }
}

void write_byte_pairs(GgufMetadata& metadata, const json& file, std::int64_t vocab,
                      std::vector<std::string>& notes) {
  const json& model = file.at("model");
  const auto pre =
      pre_tokenizer_name(file.value("pre_tokenizer", json()), model.value("ignore_merges", false));
  if (!pre) reject("its pre_tokenizer has no name in llama.cpp (tokenizer.ggml.pre)");
  if (const json normalizer = file.value("normalizer", json()); !normalizer.is_null()) {
    if (normalizer.value("type", "") != "NFC") reject("its normalizer is not supported");
    notes.emplace_back("llama.cpp does not apply the Unicode normal form NFC of the tokenizer");
  }
  TokenTable table(vocab);
  add_vocabulary(table, file);
  std::vector<std::string> merges;
  for (const json& merge : model.at("merges")) {
    const auto [left, right] = merge_of(merge);
    merges.push_back(fmt::format("{} {}", left, right));
  }
  metadata.set(kModel, "gpt2").set(kPre, *pre);
  table.write(metadata, false);
  metadata.set(kMerges, merges);
}

/// Writes a BPE that spells spaces as U+2581, such as LLaMA's. The order of the merges becomes the
/// order of the scores.
void write_blank_pairs(GgufMetadata& metadata, const json& file, std::int64_t vocab) {
  const json& model = file.at("model");
  TokenTable table(vocab);
  add_vocabulary(table, file);
  std::unordered_map<std::string, float> scores;
  float rank = 0;
  for (const json& merge : model.at("merges")) {
    const auto [left, right] = merge_of(merge);
    scores.emplace(left + right, -rank++);
  }
  const std::string unknown =
      model.at("unk_token").is_string() ? model.at("unk_token").get<std::string>() : std::string();
  for (const auto& [piece, id] : model.at("vocab").items()) {
    const auto i = id.get<std::size_t>();
    if (piece == unknown) {
      table.types[i] = static_cast<std::int32_t>(TokenType::unknown);
    } else if (table.types[i] == static_cast<std::int32_t>(TokenType::normal)) {
      if (byte_of_piece(piece)) table.types[i] = static_cast<std::int32_t>(TokenType::byte);
      const auto found = scores.find(piece);
      table.scores[i] = found == scores.end() ? -rank : found->second;
    }
  }
  const std::string normalizer = file.value("normalizer", json()).dump();
  const std::string pre = file.value("pre_tokenizer", json()).dump();
  const bool prefix = normalizer.find("\"Prepend\"") != normalizer.npos ||
                      pre.find("\"first\"") != pre.npos || pre.find("\"always\"") != pre.npos;
  metadata.set(kModel, "llama").set(kPre, "default");
  table.write(metadata, true);
  metadata.set(kSpacePrefix, prefix);
}

void write_subwords(GgufMetadata& metadata, const SubwordTokenizer& tokenizer, std::int64_t vocab,
                    std::vector<std::string>& notes) {
  const json file = json::parse(tokenizer.to_hugging_face_json());
  const json& model = file.at("model");
  if (model.value("type", "") != "BPE") reject("its model is not BPE");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (const json found = model.value(key, json()); found.is_string() && found != "")
      reject(fmt::format("its BPE model has a {}", key));
  }
  if (model.value("byte_fallback", false)) {
    write_blank_pairs(metadata, file, vocab);
  } else {
    write_byte_pairs(metadata, file, vocab, notes);
  }
}

}  // namespace

void write_tokenizer(GgufMetadata& metadata, const Tokenizer& tokenizer, std::int64_t vocab,
                     std::vector<std::string>& notes) {
  tokenizer.visit([&]<class Kind>(const Kind& kind) {
    if constexpr (std::is_same_v<Kind, SentencePieceTokenizer>) {
      write_pieces(metadata, kind, vocab);
    } else if constexpr (std::is_same_v<Kind, SubwordTokenizer>) {
      write_subwords(metadata, kind, vocab, notes);
    } else {
      reject("its tokens are characters (train with --tokenizer bpe)");
    }
  });
}

void write_generation(GgufMetadata& metadata, const Tokenizer& tokenizer,
                      const GenerationSettings* settings) {
  const auto set = [&](const char* key, std::int64_t id) {
    if (id >= 0) metadata.set(key, static_cast<std::uint32_t>(id));
  };
  const std::int64_t bos = tokenizer.bos_id();
  const std::int64_t eos = settings != nullptr && settings->options.eos_id >= 0
                               ? settings->options.eos_id
                               : tokenizer.eos_id();
  set(kBosId, bos);
  set(kEosId, eos);
  set(kUnknownId, tokenizer.unk_id());
  set(kPadId, tokenizer.pad_id());
  TokenIds added = settings != nullptr ? settings->before : TokenIds();
  TokenIds after = settings != nullptr ? settings->after : TokenIds();
  for (const std::int32_t id : tokenizer.encode_text("").ids) {
    (id == bos ? added : after).push_back(id);
  }
  metadata.set(kAddBos, !added.empty());
  metadata.set(kAddEos, !after.empty());
  if (settings == nullptr) return;
  // Other ids that end a text; llama.cpp knows one more.
  for (const std::int64_t id : settings->options.stop_ids) {
    if (id == eos) continue;
    set(kEotId, id);
    break;
  }
}

}  // namespace weft::gguf
