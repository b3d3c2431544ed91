#include "weft/models/tokenizers/tokenizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "weft/core/error.h"

namespace weft {
namespace {

/// Reads the first of the kinds that has this type.
template <class... Kinds>
std::optional<Tokenizer> read(std::string_view type, std::string_view bytes,
                              const std::variant<Kinds...>&) {
  std::optional<Tokenizer> found;
  static_cast<void>(
      ((type == Kinds::kType ? (found = Kinds::from_bytes(bytes), true) : false) || ...));
  return found;
}

template <class... Kinds>
std::vector<std::string_view> types(const std::variant<Kinds...>&) {
  return {Kinds::kType...};
}

/// Ids of generators are wider than those of tokenizers.
std::vector<std::int32_t> narrowed(std::span<const std::int64_t> ids, std::int64_t vocab) {
  std::vector<std::int32_t> narrow;
  narrow.reserve(ids.size());
  for (const std::int64_t id : ids) {
    if (id < 0 || id >= vocab)
      throw DataError(fmt::format("token id {} is outside the vocabulary [0, {})", id, vocab));
    narrow.push_back(static_cast<std::int32_t>(id));
  }
  return narrow;
}

}  // namespace

Tokenizer Tokenizer::from_bytes(std::string_view type, std::string_view bytes) {
  if (auto found = read(type, bytes, Kinds())) return *std::move(found);
  throw FormatError(fmt::format("the tokenizer is a '{}'; there are '{}'", type,
                                fmt::join(types(Kinds()), "' and '")));
}

std::string Tokenizer::type() const {
  return std::visit([](const auto& kind) { return std::string(kind.kType); }, kinds_);
}

std::string Tokenizer::bytes() const {
  return std::visit([](const auto& kind) { return kind.to_bytes(); }, kinds_);
}

std::int64_t Tokenizer::vocab_size() const {
  return std::visit([](const auto& kind) { return kind.vocab_size(); }, kinds_);
}

const SpecialIds& Tokenizer::special() const {
  return std::visit([](const auto& kind) -> const SpecialIds& { return kind.special(); }, kinds_);
}

bool Tokenizer::is_special(std::int32_t id) const {
  return std::visit([&](const auto& kind) { return kind.is_special(id); }, kinds_);
}

bool Tokenizer::is_word_start(std::int32_t id) const {
  return std::visit([&](const auto& kind) { return kind.is_word_start(id); }, kinds_);
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, TextPlace place) const {
  return std::visit([&](const auto& kind) { return kind.encode(text, place); }, kinds_);
}

std::vector<std::string> Tokenizer::pieces(std::string_view text) const {
  return std::visit([&](const auto& kind) { return kind.pieces(text); }, kinds_);
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  return std::visit([&](const auto& kind) { return kind.decode(ids); }, kinds_);
}

std::string Tokenizer::decode(std::span<const std::int64_t> ids) const {
  return decode(std::span<const std::int32_t>(narrowed(ids, vocab_size())));
}

std::string Tokenizer::piece(std::int64_t id) const {
  const std::int32_t narrow = narrowed({&id, 1}, vocab_size()).front();
  return std::visit([&](const auto& kind) { return std::string(kind.piece(narrow)); }, kinds_);
}

std::int32_t Tokenizer::find(std::string_view piece) const {
  return std::visit([&](const auto& kind) { return kind.find(piece); }, kinds_);
}

std::string_view Tokenizer::unit() const {
  return std::visit([](const auto& kind) { return std::string_view(kind.kUnit); }, kinds_);
}

bool Tokenizer::reads_characters() const {
  return std::holds_alternative<CharacterTokenizer>(kinds_);
}

std::vector<std::int32_t> Tokenizer::start_ids() const {
  constexpr std::string_view kLineBreak = "\n";
  try {
    if (auto ids = encode(kLineBreak); decode(ids) == kLineBreak) return ids;
  } catch (const DataError&) {  // no id for it
  }
  if (bos_id() >= 0) return {bos_id()};
  for (std::int32_t id = 0; id < vocab_size(); ++id) {
    if (!is_special(id)) return {id};
  }
  throw ArgumentError("the tokenizer has no id that a text could begin with");
}

Tokenizer Tokenizer::with_ends() const {
  if (const auto* characters = std::get_if<CharacterTokenizer>(&kinds_))
    return characters->with_ends();
  if (pad_id() < 0 || eos_id() < 0) {
    throw ArgumentError(
        "the tokenizer has no id for padding, or none for the end of a text: what reads and writes "
        "whole texts needs both");
  }
  return *this;
}

std::vector<std::int32_t> Tokenizer::encode_to_end(std::string_view text) const {
  if (eos_id() < 0) throw ArgumentError("the tokenizer has no id for the end of a text");
  std::vector<std::int32_t> ids = encode(text);
  ids.push_back(eos_id());
  return ids;
}

std::string Tokenizer::decode_to_end(std::span<const std::int64_t> ids) const {
  const auto end = std::find(ids.begin(), ids.end(), eos_id());
  return decode(ids.first(static_cast<std::size_t>(end - ids.begin())));
}

}  // namespace weft
