#include "weft/models/text/tokenizers/post_processors/fixed_templates.h"

#include <algorithm>
#include <optional>

#include "weft/models/text/unicode/characters.h"
#include "weft/models/text/unicode/properties.h"

namespace weft::post_processors {
namespace {

constexpr char32_t kSpelledBlank = 0x120;  // represents a space in GPT-2's byte alphabet

bool is_blank(char32_t c) { return c == kSpelledBlank || is_white_space(c); }

/// Removes leading and trailing whitespace of pieces from their spans. If `add_prefix_space` is
/// true, a single space at the start of the text was inserted by the pre-tokenizer. Spans do not
/// include this space, so it does not need to be trimmed.
void trim(Encoding& encoding, bool add_prefix_space, const PieceOf& piece) {
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    const std::string_view text = piece(encoding.ids[i]);
    std::uint32_t leading = 0, trailing = 0;
    for (std::size_t at = 0; at < text.size() && is_blank(take_character(text, at));) ++leading;
    for (std::size_t end = text.size(); end > 0 && is_blank(character_before(text, end));) {
      do --end;
      while (end > 0 && is_continuation(text[end]));
      ++trailing;
    }
    Span& span = encoding.spans[i];
    if (leading == 1 && add_prefix_space && (i == 0 || span.begin == 0)) leading = 0;
    span.begin = std::min(span.begin + leading, span.end);
    if (trailing > 0 && span.end >= trailing) span.end = std::max(span.end - trailing, span.begin);
  }
}

void trim_all(std::vector<Encoding>& encodings, bool add_prefix_space, const PieceOf& piece) {
  for (Encoding& encoding : encodings) {
    trim(encoding, add_prefix_space, piece);
    for (Encoding& window : encoding.overflowing) trim(window, add_prefix_space, piece);
  }
}

/// Adds a special token after `encoding` and after each of its windows, and optionally another one
/// before them.
void wrap(Encoding& encoding, std::optional<std::int32_t> front, std::int32_t back,
          std::int32_t type_id) {
  const auto wrapped = [&](const Encoding& inner) {
    Encoding result;
    if (front) result.add_special(*front, type_id);
    result.append(inner.part(0, inner.size()));
    result.add_special(back, type_id);
    return result;
  };
  Encoding result = wrapped(encoding);
  for (const Encoding& window : encoding.overflowing) result.overflowing.push_back(wrapped(window));
  encoding = std::move(result);
}

}  // namespace

void Bert::process(std::vector<Encoding>& encodings, bool add_special, const PieceOf&) const {
  if (!add_special) return;
  for (std::size_t i = 0; i < encodings.size(); ++i) {
    if (i == 0) {
      wrap(encodings[i], cls_.second, sep_.second, 0);
    } else {
      wrap(encodings[i], std::nullopt, sep_.second, 1);
    }
  }
}

void Roberta::process(std::vector<Encoding>& encodings, bool add_special,
                      const PieceOf& piece) const {
  if (trim_offsets_) trim_all(encodings, add_prefix_space_, piece);
  for (Encoding& encoding : encodings) {
    encoding.set_type(0);
    for (Encoding& window : encoding.overflowing) window.set_type(0);
  }
  if (!add_special) return;
  for (std::size_t i = 0; i < encodings.size(); ++i)
    wrap(encodings[i], i == 0 ? cls_.second : sep_.second, sep_.second, 0);
}

void ByteLevel::process(std::vector<Encoding>& encodings, bool, const PieceOf& piece) const {
  if (settings_.trim_offsets) trim_all(encodings, settings_.add_prefix_space, piece);
}

std::size_t Sequence::added(bool pair) const {
  std::size_t count = 0;
  for (const PostProcessorPtr& step : steps_) count += step->added(pair);
  return count;
}

std::vector<std::int32_t> Sequence::ids() const {
  std::vector<std::int32_t> all;
  for (const PostProcessorPtr& step : steps_) {
    const std::vector<std::int32_t> some = step->ids();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

void Sequence::process(std::vector<Encoding>& encodings, bool add_special,
                       const PieceOf& piece) const {
  for (const PostProcessorPtr& step : steps_) step->process(encodings, add_special, piece);
}

}  // namespace weft::post_processors
