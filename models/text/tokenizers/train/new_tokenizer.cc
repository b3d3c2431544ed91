#include "weft/models/text/tokenizers/train/new_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/text/tokenizers/formats/components.h"
#include "weft/models/text/tokenizers/formats/forms.h"
#include "weft/models/text/tokenizers/pipeline/subword_pipeline.h"
#include "weft/models/text/tokenizers/pre_tokenizers/byte_level.h"
#include "weft/models/text/tokenizers/subwords/bpe.h"
#include "weft/models/text/tokenizers/subwords/unigram_model.h"
#include "weft/models/text/tokenizers/subwords/word_pieces.h"
#include "weft/models/text/tokenizers/train/bpe_trainer.h"
#include "weft/models/text/tokenizers/train/character_bpe_trainer.h"
#include "weft/models/text/tokenizers/train/count_words.h"
#include "weft/models/text/tokenizers/train/unigram_trainer.h"
#include "weft/models/text/tokenizers/train/word_level_trainer.h"
#include "weft/models/text/tokenizers/train/word_piece_trainer.h"
#include "weft/models/text/unicode/repair.h"
#include "weft/models/text/unicode/utf8.h"

namespace weft {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

constexpr const char *kUnknown = "<unk>", *kBertUnknown = "[UNK]";
constexpr const char *kCls = "[CLS]", *kSep = "[SEP]", *kBegin = "<s>", *kEnd = "</s>";
/// Default min_frequency for pairs.
constexpr std::int64_t kDefaultMinFrequency = 2;
/// Default limit_alphabet for WordPiece.
constexpr std::int64_t kDefaultAlphabetLimit = 1000;

/// Creates a component from its description in the format of tokenizer.json.
template <class Part>
Part part(const json& described) {
  Part result;
  JsonForm<Part>::read(described, "the tokenizer component", result);
  return result;
}

/// An option that is supported by some kinds of tokenizers only.
struct OptionUse {
  const char* name;
  bool is_set;
  std::set<LearnedKind> kinds;
};
void check_kind(const TokenizerTrainerOptions& o) {
  using enum LearnedKind;
  if (const auto& prefix = o.continuing_subword_prefix;
      prefix && find_invalid_utf8(*prefix) < prefix->size())
    throw ArgumentError(
        fmt::format("continuing_subword_prefix: '{}' is not UTF-8", excerpt(*prefix)));
  for (const OptionUse& option :
       {OptionUse{"min_frequency",
                  o.min_frequency.has_value(),
                  {byte_bpe, character_bpe, wordpiece, word}},
        OptionUse{"limit_alphabet", o.limit_alphabet.has_value(), {byte_bpe, wordpiece}},
        OptionUse{"initial_alphabet", o.initial_alphabet.has_value(), {byte_bpe, wordpiece}},
        OptionUse{
            "continuing_subword_prefix", o.continuing_subword_prefix.has_value(), {wordpiece}},
        OptionUse{"max_token_length", o.max_token_length.has_value(), {byte_bpe}},
        OptionUse{"add_prefix_space", o.add_prefix_space.has_value(), {byte_bpe}},
        OptionUse{"lowercase", o.lowercase.has_value(), {wordpiece, word}},
        OptionUse{"character_coverage", o.character_coverage.has_value(), {character_bpe, unigram}},
        OptionUse{"normalization", o.normalization.has_value(), {character_bpe, unigram}},
        OptionUse{"byte_fallback", o.byte_fallback.has_value(), {character_bpe, unigram}}}) {
    if (option.is_set && !option.kinds.contains(o.kind)) {
      throw ArgumentError(fmt::format("{} is not supported for a tokenizer of kind {}", option.name,
                                      choice_name(o.kind)));
    }
  }
}

/// Returns the special tokens in order and without duplicates.
Names special_tokens(const TokenizerTrainerOptions& options) {
  Names tokens;
  for (const std::string& token :
       options.special_tokens ? *options.special_tokens : default_special_tokens(options.kind)) {
    if (token.empty()) throw ArgumentError("special_tokens contains an empty token");
    if (find_invalid_utf8(token) < token.size())
      throw ArgumentError(fmt::format("special_tokens: '{}' is not UTF-8", excerpt(token)));
    if (std::find(tokens.begin(), tokens.end(), token) == tokens.end()) tokens.push_back(token);
  }
  return tokens;
}

std::optional<std::size_t> place_in(const Names& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

std::string unknown_token(const Names& special, LearnedKind kind) {
  for (const char* name : {kUnknown, kBertUnknown})
    if (place_in(special, name)) return name;
  throw ArgumentError(fmt::format(
      "a tokenizer of kind {} requires {} or {} among its special tokens as the unknown token",
      choice_name(kind), kUnknown, kBertUnknown));
}

std::vector<AddedToken> added_tokens(const Names& special) {
  std::vector<AddedToken> added;
  for (const std::string& name : special) {
    AddedToken& token = added.emplace_back();
    token.id = static_cast<std::int32_t>(added.size() - 1);
    token.content = name;
    token.normalized = false;
    token.special = true;
  }
  return added;
}

/// Returns the templates for single texts and pairs that add the tokens `front` and `back`, for
/// example "[CLS] A [SEP]" and "[CLS] A [SEP] B [SEP]". Each of the tokens may be null: the
/// templates are then "A </s>" and "A </s> B </s>", or "<s> A" and "<s> A <s> B". Returns null if a
/// token is not one of the special tokens.
PostProcessorPtr make_template(const Names& special, const char* front, const char* back) {
  for (const char* name : {front, back})
    if (name != nullptr && !place_in(special, name)) return nullptr;
  const auto text = [](const char* id, int type) {
    return json{{"Sequence", {{"id", id}, {"type_id", type}}}};
  };
  const auto token = [](const char* id, int type) {
    return json{{"SpecialToken", {{"id", id}, {"type_id", type}}}};
  };
  json single = json::array(), tokens = json::object();
  const auto use = [&](const char* name) {
    tokens[name] = {{"id", name},
                    {"ids", json::array({*place_in(special, name)})},
                    {"tokens", json::array({name})}};
  };
  if (front != nullptr) {
    single.push_back(token(front, 0));
    use(front);
  }
  single.push_back(text("A", 0));
  if (back != nullptr) {
    single.push_back(token(back, 0));
    use(back);
  }
  json pair = single;
  // For T5, both texts of a pair have type id 0. For LLaMA and BERT, the second text has type id 1.
  const int second = front != nullptr ? 1 : 0;
  if (back == nullptr) pair.push_back(token(front, second));
  pair.push_back(text("B", second));
  if (back != nullptr) pair.push_back(token(back, second));
  return part<PostProcessorPtr>({{"type", "TemplateProcessing"},
                                 {"single", single},
                                 {"pair", pair},
                                 {"special_tokens", tokens}});
}

Vocabulary vocabulary_of(const Names& pieces) {
  std::vector<std::pair<std::string_view, std::int32_t>> ids;
  ids.reserve(pieces.size());
  for (const std::string& piece : pieces)
    ids.emplace_back(piece, static_cast<std::int32_t>(ids.size()));
  return Vocabulary(ids);
}

void check_size(std::size_t found, const TokenizerTrainerOptions& options, const Names& special) {
  if (static_cast<std::int64_t>(found) <= options.vocab) return;
  throw ArgumentError(
      fmt::format("vocab {} is too small: {} characters and {} special tokens each require an id",
                  options.vocab, found - special.size(), special.size()));
}

/// Trains byte-level BPE with the components of GPT-2's tokenizer.
SubwordParts learn_byte_bpe(TextSource& texts, const TokenizerTrainerOptions& options,
                            const Names& special, Workers& workers) {
  const json bytes = {{"type", "ByteLevel"},
                      {"add_prefix_space", options.add_prefix_space.value_or(false)},
                      {"trim_offsets", false},
                      {"use_regex", true}};
  SubwordParts parts{.added = added_tokens(special),
                     .pre_tokenizer = part<PreTokenizerPtr>(bytes),
                     .model = nullptr,
                     .post_processor = make_template(special, kCls, kSep),
                     .decoder = part<DecoderPtr>(bytes)};
  if (parts.post_processor == nullptr) parts.post_processor = part<PostProcessorPtr>(bytes);
  // No text is unknown to a byte-level model, but masking words with the unknown id requires this
  // id to exist.
  for (const char* name : {kUnknown, kBertUnknown})
    if (const auto id = place_in(special, name)) parts.special.unk = static_cast<std::int32_t>(*id);
  const std::u32string alphabet(byte_characters().begin(), byte_characters().end());
  const WordTable words = count_words(texts, nullptr, parts.pre_tokenizer, true, workers);
  LearnedBpe learned =
      train_bpe(words, {.vocab = options.vocab,
                        .min_frequency = options.min_frequency.value_or(kDefaultMinFrequency),
                        .special_tokens = special,
                        .initial_alphabet = options.initial_alphabet.value_or(alphabet),
                        .limit_alphabet = options.limit_alphabet,
                        .max_token_length = options.max_token_length,
                        .words_are_bytes = true});
  check_size(learned.pieces.size(), options, special);
  parts.model = std::make_shared<const subwords::Bpe>(
      vocabulary_of(learned.pieces), std::move(learned.merges), subwords::Bpe::Settings(), true);
  return parts;
}

/// Trains WordPiece with the components of BERT's tokenizer.
SubwordParts learn_word_piece(TextSource& texts, const TokenizerTrainerOptions& options,
                              const Names& special, Workers& workers) {
  const std::string unknown = unknown_token(special, options.kind);
  const std::string prefix = options.continuing_subword_prefix.value_or("##");
  SubwordParts parts{
      .added = added_tokens(special),
      .normalizer = part<NormalizerPtr>({{"type", "BertNormalizer"},
                                         {"clean_text", true},
                                         {"handle_chinese_chars", true},
                                         {"strip_accents", nullptr},
                                         {"lowercase", options.lowercase.value_or(true)}}),
      .pre_tokenizer = part<PreTokenizerPtr>({{"type", "BertPreTokenizer"}}),
      .model = nullptr,
      .post_processor = make_template(special, kCls, kSep),
      .decoder = part<DecoderPtr>({{"type", "WordPiece"}, {"prefix", prefix}, {"cleanup", true}})};
  const WordTable words = count_words(texts, parts.normalizer, parts.pre_tokenizer, false, workers);
  const Names pieces = train_word_pieces(
      words, {.vocab = options.vocab,
              .min_frequency = options.min_frequency.value_or(kDefaultMinFrequency),
              .special_tokens = special,
              .initial_alphabet = options.initial_alphabet.value_or(std::u32string()),
              .limit_alphabet = options.limit_alphabet.value_or(kDefaultAlphabetLimit),
              .continuing_subword_prefix = prefix});
  check_size(pieces.size(), options, special);
  parts.model = std::make_shared<const subwords::WordPiece>(vocabulary_of(pieces), unknown, prefix);
  return parts;
}

/// Trains a tokenizer whose pieces are whole words.
SubwordParts learn_word_level(TextSource& texts, const TokenizerTrainerOptions& options,
                              const Names& special, Workers& workers) {
  const std::string unknown = unknown_token(special, options.kind);
  SubwordParts parts{.added = added_tokens(special),
                     .pre_tokenizer = part<PreTokenizerPtr>({{"type", "Whitespace"}}),
                     .model = nullptr,
                     .post_processor = make_template(special, kCls, kSep)};
  if (options.lowercase.value_or(false))
    parts.normalizer = part<NormalizerPtr>({{"type", "Lowercase"}});
  const WordTable words = count_words(texts, parts.normalizer, parts.pre_tokenizer, false, workers);
  check_size(special.size(), options, special);
  parts.model = std::make_shared<const subwords::WordLevel>(
      vocabulary_of(train_word_level(words, {.vocab = options.vocab,
                                             .min_frequency = options.min_frequency.value_or(1),
                                             .special_tokens = special})),
      unknown);
  return parts;
}

/// Returns the options for SentencePiece's trainers. Their vocabulary size includes three special
/// pieces of their own.
SentencePieceTraining training_of(const TokenizerTrainerOptions& options, const Names& special) {
  constexpr std::int64_t kOwn = 3;
  const bool bytes = options.byte_fallback.value_or(false);
  check_size(special.size() + (bytes ? 256 : 0), options, special);
  SentencePieceTraining training;
  training.vocab = options.vocab - std::ssize(special) + kOwn;
  training.character_coverage = options.character_coverage.value_or(training.character_coverage);
  training.normalization = options.normalization.value_or(training.normalization);
  training.byte_fallback = bytes;
  training.min_frequency = options.min_frequency.value_or(kDefaultMinFrequency);
  return training;
}

/// Returns those pieces of a trained model that represent text, in order.
std::vector<const SentencePieceModel::Piece*> text_pieces(const SentencePieceModel& model,
                                                          const Names& special) {
  using Kind = SentencePieceModel::Kind;
  std::vector<const SentencePieceModel::Piece*> pieces;
  for (const auto& piece : model.pieces) {
    if ((piece.kind == Kind::normal || piece.kind == Kind::byte) && !place_in(special, piece.text))
      pieces.push_back(&piece);
  }
  return pieces;
}

/// Returns the components of T5's tokenizer.json for a trained model, except the model and the
/// post-processor.
SubwordParts sentence_piece_parts(const SentencePieceModel& model, const Names& special) {
  json normalizers = json::array();
  if (const std::string& map = model.normalizer.compiled_map; !map.empty()) {
    OrderedJson spelled;
    JsonForm<normalizers::Base64>::write(spelled, {map});
    normalizers.push_back(
        {{"type", "Precompiled"}, {"precompiled_charsmap", spelled.get<std::string>()}});
  }
  // As in SentencePiece, collapse runs of spaces to one space and strip spaces at the ends.
  normalizers.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
  normalizers.push_back({{"type", "Replace"}, {"pattern", {{"Regex", " {2,}"}}}, {"content", " "}});
  const json metaspace = {{"type", "Metaspace"},
                          {"replacement", "\xE2\x96\x81"},
                          {"prepend_scheme", "always"},
                          {"split", true}};
  json decoder = metaspace;
  if (model.byte_fallback) {
    decoder = {{"type", "Sequence"},
               {"decoders", json::array({json{{"type", "ByteFallback"}}, metaspace})}};
  }
  return {.added = added_tokens(special),
          .normalizer = part<NormalizerPtr>({{"type", "Sequence"}, {"normalizers", normalizers}}),
          .pre_tokenizer = part<PreTokenizerPtr>(metaspace),
          .model = nullptr,
          .post_processor = make_template(special, kCls, kSep),
          .decoder = part<DecoderPtr>(decoder)};
}

/// Trains a unigram model with the components of T5's tokenizer.
SubwordParts learn_unigram(TextSource& texts, const TokenizerTrainerOptions& options,
                           const Names& special, Workers& workers) {
  const std::string unknown = unknown_token(special, options.kind);
  const SentencePieceTokenizer learned =
      train_unigram(texts, training_of(options, special), workers);
  std::vector<std::pair<std::string, double>> pieces;
  for (const std::string& name : special) pieces.emplace_back(name, 0);
  for (const auto* piece : text_pieces(learned.model(), special))
    pieces.emplace_back(piece->text, double{piece->score});
  SubwordParts parts = sentence_piece_parts(learned.model(), special);
  parts.model = std::make_shared<const subwords::UnigramModel>(
      std::move(pieces), static_cast<std::int32_t>(*place_in(special, unknown)),
      learned.model().byte_fallback);
  if (parts.post_processor == nullptr) parts.post_processor = make_template(special, nullptr, kEnd);
  return parts;
}

/// Returns the merges that produce `pieces`, those of the best piece first. Each piece has a merge
/// for each pair of pieces that spells it, because SentencePiece joins any of these pairs. For each
/// piece, the pairs with the smallest ids come first.
subwords::Bpe::Merges merges_of(const std::vector<const SentencePieceModel::Piece*>& pieces) {
  std::unordered_map<std::string_view, std::size_t> places;
  for (const auto* piece : pieces)
    if (piece->kind == SentencePieceModel::Kind::normal) places.emplace(piece->text, places.size());
  subwords::Bpe::Merges merges;
  for (const auto* piece : pieces) {
    if (piece->kind != SentencePieceModel::Kind::normal) continue;
    const std::string_view text = piece->text;
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> ways;  // pair of ids -> split offset
    for (std::size_t at = character_size(text.front()); at < text.size();
         at += character_size(text[at])) {
      const auto left = places.find(text.substr(0, at)), right = places.find(text.substr(at));
      if (left != places.end() && right != places.end())
        ways.emplace(std::pair(left->second, right->second), at);
    }
    for (const auto& [ids, at] : ways) merges.emplace_back(text.substr(0, at), text.substr(at));
  }
  return merges;
}

/// Trains character-level BPE with the components of LLaMA's tokenizer, except that runs of spaces
/// are collapsed to one space.
SubwordParts learn_character_bpe(TextSource& texts, const TokenizerTrainerOptions& options,
                                 const Names& special, Workers& workers) {
  const std::string unknown = unknown_token(special, options.kind);
  const SentencePieceTokenizer learned =
      train_character_bpe(texts, training_of(options, special), workers);
  const auto pieces = text_pieces(learned.model(), special);
  Names names = special;
  for (const auto* piece : pieces) names.push_back(piece->text);
  SubwordParts parts = sentence_piece_parts(learned.model(), special);
  parts.model = std::make_shared<const subwords::Bpe>(
      vocabulary_of(names), merges_of(pieces),
      subwords::Bpe::Settings{.unknown_token = unknown,
                              .fuse_unknown = true,
                              .byte_fallback = learned.model().byte_fallback},
      false);
  if (parts.post_processor == nullptr)
    parts.post_processor = make_template(special, kBegin, nullptr);
  return parts;
}

}  // namespace

Names default_special_tokens(LearnedKind kind) {
  switch (kind) {
    case LearnedKind::byte_bpe: return {"<|endoftext|>"};
    case LearnedKind::character_bpe: return {kUnknown, kBegin, kEnd};
    case LearnedKind::wordpiece: return {"[PAD]", kBertUnknown, kCls, kSep, "[MASK]"};
    case LearnedKind::unigram: return {"<pad>", kEnd, kUnknown};
    case LearnedKind::word: break;
  }
  return {"<pad>", kUnknown, kBegin, kEnd};
}

SubwordTokenizer train_tokenizer(TextSource& texts, const TokenizerTrainerOptions& options,
                                 Workers& workers) {
  check_kind(options);
  const Names special = special_tokens(options);
  constexpr std::array kLearners = {learn_byte_bpe, learn_character_bpe, learn_word_piece,
                                    learn_unigram, learn_word_level};
  SubwordParts parts =
      kLearners[static_cast<std::size_t>(options.kind)](texts, options, special, workers);
  return SubwordTokenizer(std::make_shared<const SubwordPipeline>(std::move(parts)));
}

}  // namespace weft
