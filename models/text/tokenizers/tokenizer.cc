#include "weft/models/text/tokenizers/tokenizer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "weft/core/error.h"
#include "weft/core/parallel.h"
#include "weft/models/text/tokenizers/base/padding.h"
#include "weft/models/text/tokenizers/base/truncation.h"
#include "weft/models/text/unicode/repair.h"

namespace weft {
namespace {

/// Reads a tokenizer of the class whose kType is `type`. Returns std::nullopt if there is no such
/// class.
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

/// Converts the 64-bit ids of generators to the 32-bit ids of tokenizers, with a range check.
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

constexpr std::size_t kBytesPerChunk = 4096;
constexpr double kNanosecondsPerByte = 20;

}  // namespace

Tokenizer Tokenizer::from_bytes(std::string_view type, std::string_view bytes) {
  if (auto found = read(type, bytes, Kinds())) return *std::move(found);
  throw FormatError(fmt::format("unknown tokenizer type '{}'; known types are '{}'", type,
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
  return decode(ids, {.keep_bytes = true});
}

std::string Tokenizer::decode(std::span<const std::int64_t> ids) const {
  return decode(std::span<const std::int32_t>(narrowed(ids, vocab_size())));
}

Encoding Tokenizer::encode_text(std::string_view text, const EncodeOptions& options) const {
  return encode_pair({text}, options);
}

Encoding Tokenizer::encode_pair(const TokenizerInput& texts, const EncodeOptions& options) const {
  return std::visit(
      [&](const auto& kind) {
        const auto encode_alone = [&](std::string_view text, bool is_second) {
          TokenLimit limit;
          if (options.truncation &&
              (is_second || options.truncation->strategy != TruncationStrategy::only_second))
            limit = {options.truncation->max_length, options.truncation->direction};
          if (is_second && !options.plain.spans.empty()) {
            EncodeOptions own = options;
            own.plain = {};
            return kind.encode_alone(text, own, limit);
          }
          return kind.encode_alone(text, options, limit);
        };
        Encoding first = encode_alone(texts.first, false);
        std::optional<Encoding> second;
        if (texts.second) {
          second = encode_alone(*texts.second, true);
          second->set_type(1);
          std::fill(second->sequences.begin(), second->sequences.end(), 1);
        }
        if (options.truncation) {
          truncate(first, second, *options.truncation,
                   options.add_special ? kind.added(second.has_value()) : 0);
        }
        std::vector<Encoding> both;
        both.push_back(std::move(first));
        if (second) both.push_back(*std::move(second));
        Encoding result = kind.add_special_tokens(std::move(both), options.add_special);
        if (options.padding) pad({&result, 1}, *options.padding);
        return result;
      },
      kinds_);
}

std::vector<Encoding> Tokenizer::encode_batch(std::span<const TokenizerInput> batch,
                                              const EncodeOptions& options) const {
  EncodeOptions alone = options;
  alone.padding.reset();
  std::vector<Encoding> result(batch.size());
  // Group short texts into chunks, because dispatching them individually would cost as much as
  // encoding them.
  std::size_t bytes = 0;
  for (const TokenizerInput& texts : batch)
    bytes += texts.first.size() + texts.second.value_or("").size();
  const std::size_t chunks = std::clamp<std::size_t>(bytes / kBytesPerChunk, 1, batch.size() + 1);
  Workers workers;
  workers.for_chunks(
      static_cast<std::int64_t>(chunks),
      [&](std::int64_t chunk, int) {
        const auto at = [&](std::int64_t c) {
          return batch.size() * static_cast<std::size_t>(c) / chunks;
        };
        for (std::size_t i = at(chunk); i < at(chunk + 1); ++i)
          result[i] = encode_pair(batch[i], alone);
      },
      static_cast<double>(bytes) * kNanosecondsPerByte);
  if (options.padding) pad(result, *options.padding);
  return result;
}

EncodeOptions Tokenizer::default_options() const {
  EncodeOptions options;
  if (const auto* subwords = std::get_if<SubwordTokenizer>(&kinds_)) {
    options.truncation = subwords->truncation();
    options.padding = subwords->padding();
  }
  return options;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids,
                              const DecodeOptions& options) const {
  return std::visit([&](const auto& kind) { return kind.decode(ids, options); }, kinds_);
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
  } catch (const DataError&) {  // a line break is not in the vocabulary
  }
  if (bos_id() >= 0) return {bos_id()};
  for (std::int32_t id = 0; id < vocab_size(); ++id) {
    if (!is_special(id)) return {id};
  }
  throw ArgumentError("the tokenizer has no id that can start a text");
}

Tokenizer Tokenizer::with_ends() const {
  if (const auto* characters = std::get_if<CharacterTokenizer>(&kinds_))
    return characters->with_ends();
  if (pad_id() < 0 || eos_id() < 0) {
    throw ArgumentError(
        "the tokenizer has no id for padding or no id for the end of a text, but models that read "
        "and "
        "generate whole texts require both");
  }
  return *this;
}

Tokenizer Tokenizer::targets() const {
  if (const auto* pieces = std::get_if<SentencePieceTokenizer>(&kinds_)) return pieces->targets();
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
  return repaired(decode(ids.first(static_cast<std::size_t>(end - ids.begin()))));
}

}  // namespace weft
