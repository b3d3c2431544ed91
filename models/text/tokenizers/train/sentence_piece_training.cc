#include "weft/models/text/tokenizers/train/sentence_piece_training.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/normalizers/character_rules.h"
#include "weft/models/text/tokenizers/normalizers/precompiled.h"
#include "weft/models/text/tokenizers/subwords/byte_pieces.h"
#include "weft/models/text/unicode/characters.h"

namespace weft {
namespace {

using Piece = SentencePieceModel::Piece;
using Kind = SentencePieceModel::Kind;

}  // namespace

void check_training(std::int64_t vocab, double character_coverage) {
  if (!(character_coverage > 0 && character_coverage <= 1)) {
    throw ArgumentError(
        fmt::format("character_coverage must be in (0, 1], not {}", character_coverage));
  }
  if (vocab > 1 << 24)
    throw ArgumentError(fmt::format("vocab must be at most {}, not {}", 1 << 24, vocab));
}

void check_training(const SentencePieceTraining& options) {
  check_training(options.vocab, options.character_coverage);
  const auto from_zero = [](const char* name, std::int64_t value) {
    if (value < 0) throw ArgumentError(fmt::format("{} must be 0 or more, not {}", name, value));
  };
  from_zero("min_frequency", options.min_frequency);
  from_zero("seed_pieces", options.seed_pieces);
}

void add_symbols(std::vector<Piece>& pieces, std::span<const std::string> symbols) {
  std::unordered_set<std::string> known;
  for (const Piece& piece : pieces) known.insert(piece.text);
  for (const std::string& symbol : symbols) {
    if (symbol.empty()) throw ArgumentError("'symbols' contains an empty symbol");
    if (!known.insert(symbol).second)
      throw ArgumentError(fmt::format("symbols: '{}' is already a piece", symbol));
    pieces.push_back({symbol, 0, Kind::symbol});
  }
}

SentencePieceModel begin_model(const SentencePieceTraining& options) {
  check_training(options);
  SentencePieceModel model;
  model.pieces = {
      {"<unk>", 0, Kind::unknown}, {"<s>", 0, Kind::control}, {"</s>", 0, Kind::control}};
  add_symbols(model.pieces, options.symbols);
  if (options.byte_fallback) {
    for (int byte = 0; byte < 256; ++byte)
      model.pieces.push_back({byte_piece(static_cast<unsigned char>(byte)), 0, Kind::byte});
    model.byte_fallback = true;
  }
  model.normalizer = {.name = options.normalization,
                      .compiled_map = compile(character_rules(options.normalization))};
  return model;
}

SentencePieceNormalizer training_normalizer(const SentencePieceModel& model) {
  const std::string& blob = model.normalizer.compiled_map;
  std::vector<std::string_view> symbols;
  for (const Piece& piece : model.pieces)
    if (piece.kind == Kind::symbol) symbols.push_back(piece.text);
  return {{}, blob.empty() ? PrecompiledMap() : PrecompiledMap::parse(blob), symbols};
}

PieceTrie symbol_trie(std::span<const std::string> symbols) {
  std::vector<std::pair<std::string_view, std::int32_t>> named;
  for (const std::string& symbol : symbols) named.emplace_back(symbol, 0);
  return PieceTrie(std::move(named));
}

std::size_t pieces_to_learn(std::int64_t vocab, const SentencePieceModel& model,
                            CountedCharacters& characters) {
  std::unordered_set<std::string_view> symbols;
  for (const Piece& piece : model.pieces)
    if (piece.kind == Kind::symbol) symbols.insert(piece.text);
  std::erase_if(characters,
                [&](const auto& character) { return symbols.contains(utf8(character.first)); });
  const std::size_t least = model.pieces.size() + characters.size();
  if (vocab < static_cast<std::int64_t>(least)) {
    throw ArgumentError(
        fmt::format("vocab {} is too small: the text has {} characters, and there are {} special "
                    "ids and symbols",
                    vocab, characters.size(), model.pieces.size()));
  }
  return static_cast<std::size_t>(vocab) - least;
}

}  // namespace weft
