// A text as ids, and what each of them is about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/tokenizers/unicode/span.h"

namespace WEFT_API weft {

/// Ids of one text or of two; all vectors but the last are of one size.
struct Encoding {
  std::vector<std::int32_t> ids;
  std::vector<Span> spans;              // bytes of their text; {0, 0} for what is of no text
  std::vector<std::int32_t> type_ids;   // which text, as the model sees it
  std::vector<std::uint8_t> special;    // 1 for ids put around texts, and for padding
  std::vector<std::uint8_t> attention;  // 0 for padding
  std::vector<std::int32_t> words;      // number of the word in its text; -1 for none
  std::vector<std::int32_t> sequences;  // 0 or 1: the first or the second text; -1 for neither
  std::vector<Encoding> overflowing;    // windows onto what truncation cut off

  std::size_t size() const { return ids.size(); }
  /// Appends one id.
  void add(std::int32_t id, Span span, std::int32_t word, std::int32_t type_id,
           std::int32_t sequence);
  /// Appends an id that is of no text.
  void add_special(std::int32_t id, std::int32_t type_id);
  /// Appends `other`. Windows are joined each with each.
  void append(const Encoding& other);
  /// Ids [begin, end), without windows.
  Encoding part(std::size_t begin, std::size_t end) const;
  /// Gives all ids this type.
  void set_type(std::int32_t type_id);

  friend bool operator==(const Encoding&, const Encoding&) = default;
};

/// Texts as one, windows joined each with each.
Encoding joined(std::vector<Encoding> texts);

/// `spans`, bytes of `text` (any bytes), in code points; each broken part of `text` counts as one.
std::vector<Span> in_code_points(std::span<const Span> spans, std::string_view text);
/// The spans of `encoding`, in code points of the text that each belongs to.
std::vector<Span> in_code_points(const Encoding& encoding, std::string_view first,
                                 std::string_view second = {});

}  // namespace weft
