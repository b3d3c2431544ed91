#include "weft/models/text/tokenizers/base/encoding.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "weft/models/text/unicode/utf8.h"

namespace weft {
namespace {

/// Returns the length of the ASCII prefix of `text`.
std::size_t ascii_prefix(std::string_view text) {
  std::size_t at = 0;
  for (std::uint64_t eight = 0; at + sizeof(eight) <= text.size(); at += sizeof(eight)) {
    std::memcpy(&eight, text.data() + at, sizeof(eight));
    if ((eight & 0x8080808080808080U) != 0) break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}

/// Maps each byte offset in a text to the number of characters before it.
class CodePoints {
 public:
  explicit CodePoints(std::string_view text) : ascii_(ascii_prefix(text)) {
    counts_.resize(text.size() - ascii_ + 1);
    auto* out = counts_.data();
    auto count = static_cast<std::uint32_t>(ascii_);
    for (std::size_t at = ascii_; at < text.size();) {
      const int size = std::abs(examine_character(text, at));
      for (int i = 0; i < size; ++i) *out++ = count;
      ++count;
      at += static_cast<std::size_t>(size);
    }
    *out = count;
  }

  Span of(Span bytes) const {
    if (bytes.begin == bytes.end) return {before(bytes.begin), before(bytes.begin)};
    return {before(bytes.begin), before(bytes.end - 1) + 1};
  }

 private:
  std::uint32_t before(std::uint32_t byte) const {
    return byte < ascii_ ? byte : counts_[byte - ascii_];
  }

  std::size_t ascii_;                  // length of the ASCII prefix
  std::vector<std::uint32_t> counts_;  // for the end and for each byte after the ASCII prefix
};

template <class T>
void extend(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

template <class T>
std::vector<T> cut(const std::vector<T>& all, std::size_t begin, std::size_t end) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin),
          all.begin() + static_cast<std::ptrdiff_t>(end)};
}

/// Appends the ids of `from` to `to`, without overflow windows.
void append_ids(Encoding& to, const Encoding& from) {
  extend(to.ids, from.ids);
  extend(to.spans, from.spans);
  extend(to.type_ids, from.type_ids);
  extend(to.special, from.special);
  extend(to.attention, from.attention);
  extend(to.words, from.words);
  extend(to.sequences, from.sequences);
}

}  // namespace

void Encoding::add(std::int32_t id, Span span, std::int32_t word, std::int32_t type_id,
                   std::int32_t sequence) {
  ids.push_back(id);
  spans.push_back(span);
  type_ids.push_back(type_id);
  special.push_back(0);
  attention.push_back(1);
  words.push_back(word);
  sequences.push_back(sequence);
}

void Encoding::add_special(std::int32_t id, std::int32_t type_id) {
  add(id, {0, 0}, -1, type_id, -1);
  special.back() = 1;
}

Encoding Encoding::part(std::size_t begin, std::size_t end) const {
  Encoding result;
  result.ids = cut(ids, begin, end);
  result.spans = cut(spans, begin, end);
  result.type_ids = cut(type_ids, begin, end);
  result.special = cut(special, begin, end);
  result.attention = cut(attention, begin, end);
  result.words = cut(words, begin, end);
  result.sequences = cut(sequences, begin, end);
  return result;
}

void Encoding::append(const Encoding& other) {
  std::vector<Encoding> windows;
  const auto join = [&](const Encoding& first, const Encoding& second) {
    Encoding both = first.part(0, first.size());
    append_ids(both, second);
    windows.push_back(std::move(both));
  };
  for (const Encoding& mine : overflowing) {
    join(mine, other);
    for (const Encoding& theirs : other.overflowing) join(mine, theirs);
  }
  for (const Encoding& theirs : other.overflowing) join(*this, theirs);
  append_ids(*this, other);
  overflowing = std::move(windows);
}

void Encoding::set_type(std::int32_t type_id) {
  std::fill(type_ids.begin(), type_ids.end(), type_id);
}

Encoding joined(std::vector<Encoding> texts) {
  if (texts.empty()) return {};
  for (std::size_t i = 1; i < texts.size(); ++i) texts.front().append(texts[i]);
  return std::move(texts.front());
}

std::vector<Span> in_code_points(std::span<const Span> spans, std::string_view text) {
  const CodePoints points(text);
  std::vector<Span> result;
  result.reserve(spans.size());
  for (const Span span : spans) result.push_back(points.of(span));
  return result;
}

std::vector<Span> in_code_points(const Encoding& encoding, std::string_view first,
                                 std::string_view second) {
  const CodePoints points[] = {CodePoints(first), CodePoints(second)};
  std::vector<Span> result;
  result.reserve(encoding.size());
  for (std::size_t i = 0; i < encoding.size(); ++i) {
    const std::int32_t sequence = encoding.sequences[i];
    result.push_back(sequence < 0 ? Span{} : points[sequence].of(encoding.spans[i]));
  }
  return result;
}

}  // namespace weft
