#include "weft/models/tokenizers/sequence_tokenizer.h"

#include <fmt/format.h>

#include <utility>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr std::string_view kCharacterType = "weft.tokenizer.character";
constexpr std::string_view kPieceType = "weft.tokenizer.sentence_piece";
// Ids in front of those of characters.
constexpr std::int32_t kPadding = 0, kEnd = 1, kReserved = 2;

template <class... F>
struct Visitor : F... {
  using F::operator()...;
};
template <class... F>
Visitor(F...) -> Visitor<F...>;

}  // namespace

SequenceTokenizer::SequenceTokenizer(CharacterTokenizer characters)
    : tokenizer_(std::move(characters)) {}

SequenceTokenizer::SequenceTokenizer(SentencePieceTokenizer pieces)
    : tokenizer_(std::move(pieces)) {
  if (padding_id() < 0 || end_id() < 0)
    throw ArgumentError("the pieces have no id for padding, or none for the end of a text");
}

SequenceTokenizer SequenceTokenizer::from_bytes(std::string_view type, std::string_view bytes) {
  if (type == kCharacterType) return SequenceTokenizer(CharacterTokenizer::from_json(bytes));
  if (type == kPieceType) return SequenceTokenizer(SentencePieceTokenizer::from_bytes(bytes));
  throw FormatError(fmt::format("the tokenizer is a '{}'; there are '{}' and '{}'", type,
                                kCharacterType, kPieceType));
}

bool SequenceTokenizer::reads_characters() const {
  return std::holds_alternative<CharacterTokenizer>(tokenizer_);
}

const SentencePieceTokenizer& SequenceTokenizer::pieces() const {
  const auto* pieces = std::get_if<SentencePieceTokenizer>(&tokenizer_);
  if (pieces == nullptr) throw ArgumentError("the tokenizer reads characters, it has no pieces");
  return *pieces;
}

std::string SequenceTokenizer::type() const {
  return std::string(reads_characters() ? kCharacterType : kPieceType);
}

std::string SequenceTokenizer::bytes() const {
  return std::visit(
      Visitor{[](const CharacterTokenizer& characters) { return characters.to_json(); },
              [](const SentencePieceTokenizer& pieces) { return pieces.to_bytes(); }},
      tokenizer_);
}

std::int64_t SequenceTokenizer::vocab_size() const {
  return std::visit(
      Visitor{
          [](const CharacterTokenizer& characters) { return characters.vocab_size() + kReserved; },
          [](const SentencePieceTokenizer& pieces) { return pieces.vocab_size(); }},
      tokenizer_);
}

std::int32_t SequenceTokenizer::padding_id() const {
  const auto* pieces = std::get_if<SentencePieceTokenizer>(&tokenizer_);
  return pieces == nullptr ? kPadding : pieces->pad_id();
}

std::int32_t SequenceTokenizer::end_id() const {
  const auto* pieces = std::get_if<SentencePieceTokenizer>(&tokenizer_);
  return pieces == nullptr ? kEnd : pieces->eos_id();
}

std::vector<std::int32_t> SequenceTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids =
      std::visit([&](const auto& tokenizer) { return tokenizer.encode(text); }, tokenizer_);
  if (reads_characters()) {
    for (std::int32_t& id : ids) id += kReserved;
  }
  ids.push_back(end_id());
  return ids;
}

std::string SequenceTokenizer::decode(std::span<const std::int64_t> ids) const {
  const std::int32_t shift = reads_characters() ? kReserved : 0;
  std::vector<std::int32_t> kept;
  for (const std::int64_t id : ids) {
    if (id == end_id()) break;
    if (id != padding_id()) kept.push_back(static_cast<std::int32_t>(id - shift));
  }
  return std::visit([&](const auto& tokenizer) { return tokenizer.decode(kept); }, tokenizer_);
}

std::string SequenceTokenizer::piece(std::int64_t id) const {
  if (id == padding_id()) return "<pad>";
  if (id == end_id()) return "</s>";
  const auto token = static_cast<std::int32_t>(id);
  return std::visit(
      Visitor{[&](const CharacterTokenizer& characters) {
                const std::int32_t character = token - kReserved;
                return characters.decode({&character, 1});
              },
              [&](const SentencePieceTokenizer& pieces) { return pieces.piece(token); }},
      tokenizer_);
}

}  // namespace weft
