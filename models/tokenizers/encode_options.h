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

#include "weft/models/tokenizers/padding.h"
#include "weft/models/tokenizers/special_ids.h"
#include "weft/models/tokenizers/truncation.h"
#include "weft/models/tokenizers/unicode/span.h"

namespace WEFT_API weft {

/// How invalid UTF-8 is encoded.
enum class InvalidBytes : std::uint8_t {
  replaced,  // one U+FFFD for each ill-formed subsequence, see examine_character()
  kept       // kept as bytes if the ids are byte-level; otherwise as `replaced`
};

/// Parts of a text in which special tokens are not recognised, while they are in the rest.
/// Typically user input inside a prompt that a program has built.
struct PlainParts {
  /// Byte ranges of the text, sorted and disjoint.
  std::span<const Span> spans = {};
  /// Sorted ids of further tokens that are not recognised there, in addition to all special ones.
  std::span<const std::int32_t> ids = {};

  /// True if a token found at these bytes must be treated as plain text.
  bool cover(Span found, std::int32_t id, bool special) const {
    if (spans.empty() || !(special || std::binary_search(ids.begin(), ids.end(), id))) return false;
    const auto part =
        std::upper_bound(spans.begin(), spans.end(), found.begin,
                         [](std::uint32_t at, const Span& span) { return at < span.end; });
    return part != spans.end() && part->begin < found.end;
  }
};

struct EncodeOptions {
  /// Adds special tokens around texts, as the tokenizer's template defines.
  bool add_special = true;
  /// If true, "[SEP]" in a text becomes the special token of that name; if false, it is encoded as
  /// plain text.
  bool special_in_text = true;
  /// Parts that are plain text even if `special_in_text` is set. For a pair of texts, they refer to
  /// the first.
  PlainParts plain = {};
  InvalidBytes broken = InvalidBytes::replaced;
  TextPlace place = TextPlace::beginning;
  std::optional<Truncation> truncation = {};
  std::optional<Padding> padding = {};
};

/// A hint for a text that will be truncated anyway: encoding may stop after the word that reaches
/// `most` ids, counted from the end of the text that is kept. Tokenizers that work word by word
/// stop there, so overflow windows do not cover the rest of the text. Hugging Face's tokenizers
/// library, the reference implementation, does the same. Other kinds may encode the whole text.
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

/// Base of tokenizers that add no special tokens around texts.
struct NoSpecialTokens {
  /// The number of special tokens added: always 0.
  std::size_t added(bool) const { return 0; }
  /// Joins `texts` without adding tokens.
  Encoding add_special_tokens(std::vector<Encoding> texts, bool) const {
    return joined(std::move(texts));
  }
};

/// A text or a pair of texts. The views must stay valid while the input is in use.
struct TokenizerInput {
  std::string_view first;
  std::optional<std::string_view> second = {};
};

}  // namespace weft
