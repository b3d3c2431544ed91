// Options for encoding and decoding.
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

#include "weft/models/text/tokenizers/base/padding.h"
#include "weft/models/text/tokenizers/base/special_ids.h"
#include "weft/models/text/tokenizers/base/truncation.h"
#include "weft/models/text/unicode/span.h"

namespace WEFT_API weft {

/// Specifies how invalid UTF-8 is handled.
enum class InvalidBytes : std::uint8_t {
  replaced,  // one U+FFFD for each ill-formed subsequence, see examine_character()
  kept       // kept as bytes if the ids are byte-level; otherwise as `replaced`
};

/// Parts of a text in which special tokens are not recognised, although they are recognised in the
/// rest of the text. Typically, such a part is user input in a prompt that a program has assembled.
struct PlainParts {
  /// Byte ranges of the text, sorted and disjoint.
  std::span<const Span> spans = {};
  /// Sorted ids of non-special tokens that are not recognised in these parts either.
  std::span<const std::int32_t> ids = {};

  /// Returns true if a token that was found at these bytes must be treated as plain text.
  bool cover(Span found, std::int32_t id, bool special) const {
    if (spans.empty() || !(special || std::binary_search(ids.begin(), ids.end(), id))) return false;
    const auto part =
        std::upper_bound(spans.begin(), spans.end(), found.begin,
                         [](std::uint32_t at, const Span& span) { return at < span.end; });
    return part != spans.end() && part->begin < found.end;
  }
};

struct EncodeOptions {
  /// If true, adds special tokens around texts according to the tokenizer's template.
  bool add_special = true;
  /// If true, the name of a special token in a text ("[SEP]") is encoded as that token; if false,
  /// as plain text.
  bool special_in_text = true;
  /// Parts that are treated as plain text even if `special_in_text` is true. For a pair of texts,
  /// the spans refer to the first text.
  PlainParts plain = {};
  InvalidBytes broken = InvalidBytes::replaced;
  TextPlace place = TextPlace::beginning;
  std::optional<Truncation> truncation = {};
  std::optional<Padding> padding = {};
};

/// A hint for encoding a text that will be truncated: encoding may stop after the word at which
/// `most` ids are reached, counted from the end that is kept. Tokenizers that encode word by word
/// do so; their overflow windows therefore do not cover the rest of the text. Hugging Face's
/// tokenizers library, the reference implementation, behaves in the same way. Other tokenizers may
/// encode the whole text.
struct TokenLimit {
  std::size_t most = std::numeric_limits<std::size_t>::max();
  TextEnd cut = TextEnd::right;  // the end that will be truncated
};

struct DecodeOptions {
  bool keep_special = false;
  /// If true, invalid UTF-8 is returned unchanged; if false, each ill-formed subsequence becomes
  /// one U+FFFD.
  bool keep_bytes = false;
};

/// Base class of tokenizers that add no special tokens around texts.
struct NoSpecialTokens {
  /// Returns the number of special tokens added, which is always 0.
  std::size_t added(bool) const { return 0; }
  /// Joins `texts` without adding any tokens.
  Encoding add_special_tokens(std::vector<Encoding> texts, bool) const {
    return joined(std::move(texts));
  }
};

/// A text or a pair of texts. The viewed strings must outlive the input.
struct TokenizerInput {
  std::string_view first;
  std::optional<std::string_view> second = {};
};

}  // namespace weft
