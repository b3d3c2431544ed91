#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/gguf/keys.h"
#include "weft/models/gguf/pre_tokenizers.h"
#include "weft/models/gguf/token_types.h"
#include "weft/models/gguf/tokenizer.h"
#include "weft/models/text/tokenizers/formats/components.h"
#include "weft/models/text/tokenizers/formats/forms.h"
#include "weft/models/text/tokenizers/pipeline/subword_pipeline.h"
#include "weft/models/text/tokenizers/subwords/bpe.h"

namespace weft::gguf {
namespace {

using Strings = std::vector<std::string>;

/// The tokens of a file.
struct Tokens {
  Strings texts;
  std::vector<TokenType> types;
  std::vector<double> scores;

  std::size_t size() const { return texts.size(); }
  /// Tokens that are recognised in a text before it is segmented.
  bool is_added(std::size_t id) const {
    return types[id] == TokenType::control || types[id] == TokenType::user_defined;
  }
};

Tokens read_tokens(const GgufMetadata& metadata) {
  Tokens tokens{metadata.get<Strings>(kTokens), {}, {}};
  tokens.types.assign(tokens.size(), TokenType::normal);
  tokens.scores.assign(tokens.size(), 0);
  const auto check = [&](const char* key, std::size_t size) {
    if (size != tokens.size())
      metadata.fail(key,
                    fmt::format("has {} elements, but there are {} tokens", size, tokens.size()));
  };
  if (const auto types = metadata.find<std::vector<std::int64_t>>(kTypes)) {
    check(kTypes, types->size());
    for (std::size_t id = 0; id < types->size(); ++id) {
      const std::int64_t type = (*types)[id];
      if (type < 0 || type > 6)
        metadata.fail(kTypes,
                      fmt::format("gives token {} the type {}, but types are 1 to 6", id, type));
      tokens.types[id] = type == 0 ? TokenType::normal : static_cast<TokenType>(type);
    }
  }
  if (auto scores = metadata.find<std::vector<double>>(kScores)) {
    check(kScores, scores->size());
    tokens.scores = *std::move(scores);
  }
  return tokens;
}

/// Returns the id at a key, or `absent`. Throws FormatError if it is not the id of a token.
std::int32_t token_id(const GgufMetadata& metadata, const char* key, std::int64_t absent,
                      std::size_t count) {
  const std::int64_t id = metadata.find<std::int64_t>(key).value_or(absent);
  // Writers store an absent id as -1 or as the largest u32.
  if (id == -1 || id == 0xFFFFFFFF) return -1;
  if (id < 0 || id >= static_cast<std::int64_t>(count)) {
    if (!metadata.contains(key)) return -1;
    metadata.fail(key, fmt::format("is {}, but there are {} tokens", id, count));
  }
  return static_cast<std::int32_t>(id);
}

SpecialIds special_ids(const GgufMetadata& metadata, std::size_t count, bool pieces) {
  const auto id = [&](const char* key, std::int64_t absent) {
    return token_id(metadata, key, absent, count);
  };
  // The defaults are those of llama.cpp.
  return {.pad = id(kPadId, -1),
          .unk = id(kUnknownId, pieces ? 0 : -1),
          .bos = id(kBosId, pieces ? 1 : 11),
          .eos = id(kEosId, pieces ? 2 : 11)};
}

/// Reads a SentencePiece model.
Tokenizer read_pieces(const GgufMetadata& metadata) {
  const Tokens tokens = read_tokens(metadata);
  SpecialIds special = special_ids(metadata, tokens.size(), true);
  SentencePieceModel model;
  const auto unknown = std::find(tokens.types.begin(), tokens.types.end(), TokenType::unknown);
  if (unknown != tokens.types.end())
    special.unk = static_cast<std::int32_t>(unknown - tokens.types.begin());
  if (special.unk < 0) special.unk = 0;
  // Special ids are control pieces of the model, as in LLaMA's own files. Other tokens that texts
  // may contain are added to it, so that the text after them begins with a space.
  const auto is_special = [&](std::int32_t id) {
    return id == special.bos || id == special.eos || id == special.pad || id == special.unk;
  };
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    if (tokens.is_added(id) && !is_special(static_cast<std::int32_t>(id))) {
      model.layout.added.push_back(
          {.text = tokens.texts[id], .special = tokens.types[id] == TokenType::control});
      model.layout.ids.push_back(-static_cast<std::int32_t>(model.layout.added.size()));
      continue;
    }
    const auto kind = static_cast<std::int32_t>(id) == special.unk
                          ? SentencePieceModel::Kind::unknown
                      : tokens.is_added(id)                   ? SentencePieceModel::Kind::control
                      : tokens.types[id] == TokenType::byte   ? SentencePieceModel::Kind::byte
                      : tokens.types[id] == TokenType::unused ? SentencePieceModel::Kind::unused
                                                              : SentencePieceModel::Kind::normal;
    if (kind == SentencePieceModel::Kind::byte) model.byte_fallback = true;
    model.layout.ids.push_back(static_cast<std::int32_t>(model.pieces.size()));
    model.pieces.push_back({tokens.texts[id], static_cast<float>(tokens.scores[id]), kind});
  }
  model.layout.special = special;
  model.normalizer = {.name = "identity",
                      .dummy_prefix = metadata.find<bool>(kSpacePrefix).value_or(true),
                      .remove_extra_whitespace = metadata.find<bool>(kExtraSpaces).value_or(false)};
  return SentencePieceTokenizer::from_bytes(model.to_bytes());
}

/// Reads a byte-level BPE.
Tokenizer read_byte_pairs(const GgufMetadata& metadata) {
  const PreTokenizer pre = find_pre_tokenizer(metadata.find<std::string>(kPre).value_or("default"));
  const Tokens tokens = read_tokens(metadata);
  SubwordParts parts;
  std::vector<std::pair<std::string_view, std::int32_t>> pieces;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const auto number = static_cast<std::int32_t>(id);
    if (tokens.is_added(id)) {
      AddedToken& token = parts.added.emplace_back();
      token.id = number;
      token.content = tokens.texts[id];
      token.normalized = false;
      token.special = tokens.types[id] == TokenType::control;
    } else {
      pieces.emplace_back(tokens.texts[id], number);
    }
  }
  subwords::Bpe::Merges merges;
  const auto lines = metadata.get<Strings>(kMerges);
  merges.reserve(lines.size());
  for (const std::string& line : lines) {
    merges.push_back(
        split_merge(line, [&] { return fmt::format("{}[{}]", kMerges, merges.size()); }));
  }
  JsonForm<PreTokenizerPtr>::read(pre.component, "the pre-tokenizer", parts.pre_tokenizer);
  JsonForm<DecoderPtr>::read({{"type", "ByteLevel"},
                              {"add_prefix_space", true},
                              {"trim_offsets", true},
                              {"use_regex", true}},
                             "the decoder", parts.decoder);
  subwords::Bpe::Settings settings;
  settings.ignore_merges = pre.ignore_merges;
  parts.model =
      std::make_shared<const subwords::Bpe>(Vocabulary(pieces), std::move(merges), settings, true);
  parts.special = special_ids(metadata, tokens.size(), false);
  return SubwordTokenizer(std::make_shared<const SubwordPipeline>(std::move(parts)));
}

/// Throws FormatError for keys of the tokenizer that are unknown and might change ids.
void check_keys(const GgufMetadata& metadata) {
  static constexpr std::array<std::string_view, 24> kKnown = {
      kModel, kPre, kTokens, kTypes, kScores, kMerges, kBosId, kEosId, kUnknownId, kPadId, kEotId,
      kEomId, kAddBos, kAddEos, kSpacePrefix, kExtraSpaces,
      // Ids that change no text: special tokens of encoders and for filling in the middle.
      "tokenizer.ggml.seperator_token_id", "tokenizer.ggml.cls_token_id",
      "tokenizer.ggml.mask_token_id", "tokenizer.ggml.token_type_count",
      "tokenizer.ggml.add_sep_token", "tokenizer.ggml.prefix_token_id",
      "tokenizer.ggml.suffix_token_id", "tokenizer.ggml.middle_token_id"};
  for (const GgufMetadata::Entry& entry : metadata.entries()) {
    if (!entry.key.starts_with("tokenizer.ggml.") || entry.key.starts_with("tokenizer.ggml.fim_"))
      continue;
    if (std::find(kKnown.begin(), kKnown.end(), entry.key) == kKnown.end())
      metadata.fail(entry.key,
                    fmt::format("is unknown, and might change the ids of texts (to ignore it: "
                                "--ignore-config-key {})",
                                entry.key));
  }
}

/// Tokens with which chat models end their turns. Files name only one of them.
constexpr std::array<std::string_view, 12> kEnds = {
    "<|eot_id|>",    "<|im_end|>", "<|end|>",         "<end_of_turn>",
    "<|endoftext|>", "<|eom_id|>", "<EOT>",           "_<EOT>",
    "<|return|>",    "<|call|>",   "<|end_of_text|>", "<｜end▁of▁sentence｜>"};

}  // namespace

FolderTokenizer read_tokenizer(const GgufFile& file) {
  const GgufMetadata& metadata = file.metadata;
  const auto model = metadata.find<std::string>(kModel);
  if (!model || *model == "none" || *model == "no_vocab")
    return {std::nullopt, fmt::format("{} has no tokenizer ({})", file.path, kModel)};
  if (*model != "llama" && *model != "gpt2") {
    return {std::nullopt,
            fmt::format("{}: {} is {}, which is not supported; supported are llama (SentencePiece "
                        "BPE) and gpt2 (byte-level BPE)",
                        file.path, kModel, excerpt(*model))};
  }
  try {
    check_keys(metadata);
    return {*model == "llama" ? read_pieces(metadata) : read_byte_pairs(metadata)};
  } catch (const FormatError& e) {
    const std::string message = e.what();
    return {std::nullopt, message.find(file.path) == message.npos
                              ? fmt::format("{}: {}", file.path, message)
                              : message};
  }
}

GenerationSettings read_generation(const GgufFile& file, const Tokenizer* tokenizer) {
  const GgufMetadata& metadata = file.metadata;
  GenerationSettings settings;
  GenerationOptions& options = settings.options;
  if (tokenizer != nullptr) {
    const auto count = static_cast<std::size_t>(tokenizer->vocab_size());
    options.eos_id = tokenizer->eos_id();
    options.pad_id = std::max(tokenizer->pad_id(), 0);
    settings.bos_id = tokenizer->bos_id();
    const auto add_end = [&](std::int32_t id) {
      if (id >= 0 && !options.is_end(id)) options.stop_ids.push_back(id);
    };
    for (const char* key : {kEotId, kEomId}) add_end(token_id(metadata, key, -1, count));
    // In the format of GPT-OSS, <|end|> ends a message, but not the turn.
    const bool harmony = tokenizer->find("<|return|>") >= 0 && tokenizer->find("<|call|>") >= 0;
    for (const std::string_view text : kEnds) {
      const std::int32_t id = tokenizer->find(text);
      if (id >= 0 && tokenizer->is_special(id) && !(harmony && text == "<|end|>")) add_end(id);
    }
    const bool pieces = tokenizer->type() == SentencePieceTokenizer::kType;
    const bool bos =
        pieces || find_pre_tokenizer(metadata.find<std::string>(kPre).value_or("default")).adds_bos;
    if (metadata.find<bool>(kAddBos).value_or(bos) && tokenizer->bos_id() >= 0)
      settings.before = {tokenizer->bos_id()};
    if (metadata.find<bool>(kAddEos).value_or(false) && tokenizer->eos_id() >= 0)
      settings.after = {tokenizer->eos_id()};
  }
  SamplingOptions sampling;
  const auto real = [&](const char* key, double& value) {
    const auto found = metadata.find<double>(key);
    if (found) value = shortest_decimal(*found);
    return found.has_value();
  };
  const bool sampled = real("general.sampling.temp", sampling.temperature);
  real("general.sampling.top_p", sampling.top_p);
  real("general.sampling.min_p", sampling.min_p);
  real("general.sampling.penalty_repeat", options.repetition_penalty);
  sampling.top_k =
      std::max(metadata.find<std::int64_t>("general.sampling.top_k").value_or(0), std::int64_t{0});
  if (sampled && sampling.temperature != 0) options.sampling = sampling;
  try {
    options.check();
  } catch (const ArgumentError& e) {
    throw FormatError(fmt::format("{}: general.sampling: {}", file.path, e.what()));
  }
  return settings;
}

std::optional<ChatFormat> read_chat(const GgufFile& file, const Tokenizer* tokenizer) {
  const auto source = file.metadata.find<std::string>(kTemplate);
  if (!source || tokenizer == nullptr) return std::nullopt;
  return ChatFormat::from_template(*source, special_texts(*tokenizer));
}

}  // namespace weft::gguf
