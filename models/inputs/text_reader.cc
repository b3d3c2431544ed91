#include "weft/models/inputs/text_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/parallel.h"
#include "weft/models/data/batching/token_rows.h"
#include "weft/models/inputs/encoder_vocabulary.h"
#include "weft/models/text/unicode/lower.h"
#include "weft/models/text/unicode/repair.h"

namespace weft {
namespace {

/// Number of text bytes that a thread encodes at a time.
constexpr std::size_t kBytesTogether = 4096;
/// Approximate cost of encoding one byte of text.
constexpr double kNanosecondsPerByte = 100;

constexpr const char* kNothingLeft =
    "it has no tokens: the tokenizer removes the whole text and adds no special tokens";

}  // namespace

const FieldList<TextReading>& TextReading::fields() {
  static const auto list =
      FieldList<TextReading>("the input options of an encoder")
          .add("token_types", &TextReading::token_types,
               "programs have an input that assigns tokens to the first or "
               "second text")
          .added("max_tokens", &TextReading::max_tokens,
                 "maximum number of tokens of a text, which is truncated to "
                 "this length; 0 = the context of the encoder")
          .added("lower_case", &TextReading::lower_case, "convert texts to lower case")
          .added("truncation_side", &TextReading::truncation_side,
                 "the end at which texts that are too long are truncated");
  return list;
}

void check_vocabulary(const EncoderConfig& config, const Tokenizer& tokenizer,
                      const std::optional<TextReading>& reading) {
  if (!reading) return check_vocabulary(config, tokenizer);
  if (tokenizer.vocab_size() > config.vocab) {
    throw ArgumentError(ids_without_rows(tokenizer.vocab_size(), config.vocab));
  }
}

std::string ids_without_rows(std::int64_t ids, std::int64_t rows) {
  return fmt::format(
      "the tokenizer has {} ids, but the model's embedding table has {} rows: they do not "
      "belong together",
      ids, rows);
}

std::int32_t padding_id(const EncoderConfig& config, const Tokenizer& tokenizer) {
  if (config.padding_id >= 0) return static_cast<std::int32_t>(config.padding_id);
  return std::max(tokenizer.pad_id(), 0);  // any id is possible, because padding is masked
}

TextRow TextReader::row(std::string_view text) const {
  std::int64_t tokens = 0;
  return row(text, tokens);
}

TextRow TextReader::row(std::string_view text, std::int64_t& tokens) const {
  if (!reading_) {
    const std::vector<std::int32_t> ids = tokenizer_.encode(text);
    tokens = std::ssize(ids) + 2;
    return {with_ends(ids, tokenizer_.cls_id(), tokenizer_.sep_id(), longest())};
  }
  Encoding encoding = encode({text}, std::nullopt);
  tokens = std::ssize(encoding.ids);
  if (tokens > longest()) encoding = encode({text}, to_fit());
  return {std::move(encoding.ids), std::move(encoding.type_ids)};
}

std::vector<TextRow> TextReader::rows(std::span<const std::string> texts,
                                      const OnCut& on_cut) const {
  std::vector<TextRow> result(texts.size());
  std::vector<std::int64_t> tokens(texts.size());
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size();
  const std::size_t chunks = std::clamp<std::size_t>(bytes / kBytesTogether, 1, texts.size() + 1);
  Workers().for_chunks(
      static_cast<std::int64_t>(chunks),
      [&](std::int64_t chunk, int) {
        const auto at = [&](std::int64_t c) {
          return texts.size() * static_cast<std::size_t>(c) / chunks;
        };
        for (std::size_t i = at(chunk); i < at(chunk + 1); ++i)
          result[i] = with_number(i, [&] { return row(texts[i], tokens[i]); });
      },
      static_cast<double>(bytes) * kNanosecondsPerByte);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (tokens[i] == 0) throw TextError(i, kNothingLeft);
    if (tokens[i] > longest()) report_cut({i, tokens[i], longest(), truncation_side()}, on_cut);
  }
  return result;
}

Truncation TextReader::to_fit() const {
  return {.direction = truncation_side(), .max_length = static_cast<std::uint64_t>(longest())};
}

void TextReader::report_cut(const CutText& cut, const OnCut& on_cut) const {
  if (on_cut || !reading_ || reading_->max_tokens == 0) report_truncation(cut, on_cut);
}

Encoding TextReader::encode(const TokenizerInput& texts) const { return encode(texts, to_fit()); }

Encoding TextReader::encode(const TokenizerInput& texts, std::size_t number,
                            const OnCut& on_cut) const {
  return with_number(number, [&] {
    Encoding whole = encode(texts, std::nullopt);
    const std::int64_t tokens = std::ssize(whole.ids);
    if (tokens == 0) throw TextError(number, kNothingLeft);
    if (tokens <= longest()) return whole;
    report_cut({number, tokens, longest(), truncation_side()}, on_cut);
    return encode(texts, to_fit());
  });
}

Encoding TextReader::encode(const TokenizerInput& texts,
                            const std::optional<Truncation>& truncation) const {
  require_utf8(texts.first);
  if (texts.second) require_utf8(*texts.second);
  if (reading_ && reading_->lower_case) {
    const std::string lower = in_lower_case(texts.first);
    const std::string lower_second = in_lower_case(texts.second.value_or(""));
    TokenizerInput lowered{lower};
    if (texts.second) lowered.second = lower_second;
    return encode_as_written(lowered, truncation);
  }
  return encode_as_written(texts, truncation);
}

Encoding TextReader::encode_as_written(const TokenizerInput& texts,
                                       const std::optional<Truncation>& truncation) const {
  if (tokenizer_adds_special_tokens())
    return tokenizer_.encode_pair(texts, {.truncation = truncation});
  Encoding first = encode_without_special(texts.first, false);
  std::optional<Encoding> second;
  if (texts.second) second = encode_without_special(*texts.second, true);
  if (truncation) truncate(first, second, *truncation, added(second.has_value()));
  return add_special_tokens(first, second ? &*second : nullptr);
}

std::vector<Encoding> TextReader::windows(std::string_view first, std::string_view second,
                                          std::int64_t most, std::int64_t stride) const {
  require_utf8(first);
  require_utf8(second);
  const Encoding front = encode_without_special(first, false);
  const auto room = std::min(most, longest()) - static_cast<std::int64_t>(front.size()) -
                    static_cast<std::int64_t>(added(true));
  if (room < 1) {
    throw ArgumentError(fmt::format(
        "it has {} tokens including special tokens, which leaves no room for the other text in "
        "rows of {} tokens",
        std::min(most, longest()) - room, std::min(most, longest())));
  }
  Encoding behind = encode_without_special(second, true);
  truncate(behind, static_cast<std::size_t>(room),
           static_cast<std::size_t>(std::min(stride, room / 2)), truncation_side());
  std::vector<Encoding> windows = {add_special_tokens(front, &behind)};
  for (const Encoding& window : behind.overflowing)
    windows.push_back(add_special_tokens(front, &window));
  return windows;
}

Encoding TextReader::encode_without_special(std::string_view text, bool is_second) const {
  Encoding result = tokenizer_.encode_text(text, {.add_special = false});
  if (is_second) {
    result.set_type(1);
    std::fill(result.sequences.begin(), result.sequences.end(), 1);
  }
  return result;
}

bool TextReader::tokenizer_adds_special_tokens() const {
  return reading_ && tokenizer_.visit([](const auto& kind) { return kind.added(false); }) > 0;
}

std::size_t TextReader::added(bool pair) const {
  if (tokenizer_adds_special_tokens())
    return tokenizer_.visit([&](const auto& kind) { return kind.added(pair); });
  const Encoding nothing;
  return add_special_tokens(nothing, pair ? &nothing : nullptr).size();
}

/// If the tokenizer does not define the special ids, the BERT ids are used: "[CLS] first [SEP]
/// second [SEP]". RoBERTa and its successors separate two texts by two end ids.
Encoding TextReader::add_special_tokens(const Encoding& first, const Encoding* second) const {
  const auto text_alone = [](const Encoding& text) { return text.part(0, text.size()); };
  if (tokenizer_adds_special_tokens()) {
    std::vector<Encoding> texts = {text_alone(first)};
    if (second != nullptr) texts.push_back(text_alone(*second));
    return tokenizer_.visit([&](const auto& kind) { return kind.add_special_tokens(texts, true); });
  }
  const SpecialIds& ids = tokenizer_.special();
  const std::int32_t front = ids.cls >= 0 ? ids.cls : ids.bos;
  const std::int32_t behind = ids.sep >= 0 ? ids.sep : ids.eos;
  if (second != nullptr && behind < 0)
    throw ArgumentError("the tokenizer has no separator id for text pairs");
  Encoding result;
  if (front >= 0) result.add_special(front, 0);
  result.append(text_alone(first));
  if (behind >= 0) result.add_special(behind, 0);
  if (second == nullptr) return result;
  if (config_.positions_skip_padding) result.add_special(behind, 0);
  result.append(text_alone(*second));
  result.add_special(behind, 1);
  return result;
}

NamedTensors TextReader::inputs(std::span<const TextRow* const> rows, std::int64_t multiple) const {
  std::vector<std::vector<std::int32_t>> ids, types;
  const bool typed = reading_ && reading_->token_types;
  for (const TextRow* row : rows) {
    if (row->ids.empty()) throw DataError(fmt::format("one of the texts: {}", kNothingLeft));
    ids.push_back(row->ids);
    if (!typed) continue;
    types.push_back(row->token_types);
    types.back().resize(row->ids.size());
  }
  const TokenRows tokens = pad_rows(ids, padding_id(config_, tokenizer_), multiple, longest());
  NamedTensors inputs = {{"tokens", tokens.ids}, {"mask", tokens.mask}};
  if (typed) inputs.emplace_back("token_types", pad_rows(types, 0, multiple, longest()).ids);
  return inputs;
}

NamedTensors TextReader::inputs_with_places(std::span<const TextRow* const> rows) const {
  NamedTensors all = inputs(rows, 1);
  const std::int64_t length = all.front().second.size(1);
  std::vector<std::int64_t> places;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::int64_t i = 0; i < std::ssize(rows[row]->ids); ++i)
      places.push_back(static_cast<std::int64_t>(row) * length + i);
  }
  all.emplace_back("token_places", Tensor::of({std::ssize(places)}, places));
  return all;
}

NamedTensors TextReader::unpadded_inputs(std::span<const TextRow* const> rows) const {
  std::vector<std::int32_t> ids, types;
  std::vector<std::int64_t> offsets = {0};
  for (const TextRow* row : rows) {
    if (row->ids.empty()) throw DataError(fmt::format("one of the texts: {}", kNothingLeft));
    ids.insert(ids.end(), row->ids.begin(), row->ids.end());
    types.insert(types.end(), row->token_types.begin(), row->token_types.end());
    types.resize(ids.size());
    offsets.push_back(std::ssize(ids));
  }
  NamedTensors inputs = {{"unpadded_tokens", Tensor::of({1, std::ssize(ids)}, ids)},
                         {"offsets", Tensor::of({std::ssize(offsets)}, offsets)}};
  if (reading_ && reading_->token_types)
    inputs.emplace_back("unpadded_token_types", Tensor::of({1, std::ssize(types)}, types));
  return inputs;
}

}  // namespace weft
