// How texts become ids, and ids text, where it is not as always.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/tokenizers/padding.h"
#include "weft/models/tokenizers/special_ids.h"
#include "weft/models/tokenizers/truncation.h"
#include "weft/models/tokenizers/unicode/span.h"

namespace WEFT_API weft {

/// What becomes of bytes that are no UTF-8.
enum class BrokenBytes : std::uint8_t {
  replaced,  // one U+FFFD for each part that is broken
  kept       // they stay, where ids stand for bytes; otherwise they are replaced
};

/// Parts of a text that are text like any other, although special ids are found in the rest: what
/// people wrote, within what a program put around it.
struct PlainParts {
  /// Bytes of the text; in order, apart from each other.
  std::span<const Span> spans = {};
  /// Ids of further tokens that are not found there, sorted; special ones never are.
  std::span<const std::int32_t> ids = {};

  /// True where a token that is found at these bytes is text.
  bool cover(Span found, std::int32_t id, bool special) const {
    if (spans.empty() || !(special || std::binary_search(ids.begin(), ids.end(), id))) return false;
    const auto part =
        std::upper_bound(spans.begin(), spans.end(), found.begin,
                         [](std::uint32_t at, const Span& span) { return at < span.end; });
    return part != spans.end() && part->begin < found.end;
  }
};

struct EncodeOptions {
  /// Special ids are put around texts, as the tokenizer's template has it.
  bool add_special = true;
  /// "[SEP]" in a text is the id of that name; otherwise it is text like any other.
  bool special_in_text = true;
  /// Where it is text nevertheless. Of two texts: in the first.
  PlainParts plain = {};
  BrokenBytes broken = BrokenBytes::replaced;
  TextPlace place = TextPlace::beginning;
  std::optional<Truncation> truncation = {};
  std::optional<Padding> padding = {};
};

/// Where a text that will be truncated anyway need not be looked at any further: behind the word
/// with which it has `most` ids, from its beginning or from its end. A kind that goes word by word
/// stops there, so that windows onto what follows are not made (nor does the library whose results
/// are the standard); others may encode all of the text.
struct TokenLimit {
  std::size_t most = std::numeric_limits<std::size_t>::max();
  TextEnd cut = TextEnd::right;
};

struct DecodeOptions {
  bool keep_special = false;
  /// Bytes that are no UTF-8 as they are; otherwise one U+FFFD for each part that is broken.
  bool keep_bytes = false;
};

/// What kinds of tokenizers have in common that put no ids around texts.
struct NothingAround {
  /// None, and nothing is put around.
  std::size_t added(bool) const { return 0; }
  Encoding put_around(std::vector<Encoding> texts, bool) const { return joined(std::move(texts)); }
};

/// One text or two. The texts must live as long as they are used.
struct TokenizerInput {
  std::string_view first;
  std::optional<std::string_view> second = {};
};

}  // namespace weft
