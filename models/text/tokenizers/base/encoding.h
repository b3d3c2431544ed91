// The result of encoding a text: ids with their spans, types and masks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/text/unicode/span.h"

namespace WEFT_API weft {

/// The ids of a text or of a pair of texts. All vectors except `overflowing` have the same size.
struct Encoding {
  std::vector<std::int32_t> ids;
  std::vector<Span> spans;              // source bytes; {0, 0} for ids that have no source text
  std::vector<std::int32_t> type_ids;   // token type ids, as the model expects them
  std::vector<std::uint8_t> special;    // 1 for added special tokens and for padding
  std::vector<std::uint8_t> attention;  // attention mask: 0 for padding
  std::vector<std::int32_t> words;      // index of the word within its text, or -1
  std::vector<std::int32_t> sequences;  // 0 for the first text, 1 for the second, or -1 for neither
  std::vector<Encoding> overflowing;    // windows that cover the text removed by truncation

  std::size_t size() const { return ids.size(); }
  /// Appends one id.
  void add(std::int32_t id, Span span, std::int32_t word, std::int32_t type_id,
           std::int32_t sequence);
  /// Appends a special token, which has no source text.
  void add_special(std::int32_t id, std::int32_t type_id);
  /// Appends `other`. Each combination of an overflow window of one and a window of the other
  /// becomes a window of the result.
  void append(const Encoding& other);
  /// Returns ids [begin, end) without overflow windows.
  Encoding part(std::size_t begin, std::size_t end) const;
  /// Sets the token type of all ids.
  void set_type(std::int32_t type_id);

  friend bool operator==(const Encoding&, const Encoding&) = default;
};

/// Concatenates `texts` in order with Encoding::append().
Encoding joined(std::vector<Encoding> texts);

/// Converts byte spans in `text` to code point spans. `text` may contain arbitrary bytes; each
/// ill-formed subsequence of UTF-8 counts as one code point.
std::vector<Span> in_code_points(std::span<const Span> spans, std::string_view text);
/// Converts the spans of `encoding` to code point spans. Each span refers to the text from which
/// its id was encoded.
std::vector<Span> in_code_points(const Encoding& encoding, std::string_view first,
                                 std::string_view second = {});

}  // namespace weft
