// Tokens that are added to a model's vocabulary. They are matched in a text before any other
// processing.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/models/text/tokenizers/base/encode_options.h"
#include "weft/models/text/tokenizers/base/split_text.h"
#include "weft/models/text/tokenizers/normalizers/normalizer.h"
#include "weft/models/text/tokenizers/subwords/piece_trie.h"

namespace WEFT_API weft {

struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  bool single_word = false;  // matches whole words only
  bool lstrip = false;       // absorbs preceding whitespace
  bool rstrip = false;       // absorbs following whitespace
  bool normalized = true;    // the token is normalised, and then matched in normalised text
  bool special = false;      // omitted from decoded text

  template <class Fields>
  void describe(Fields& fields) {
    fields.required("id", id);
    fields.required("content", content);
    fields.required("single_word", single_word);
    fields.required("lstrip", lstrip);
    fields.required("rstrip", rstrip);
    fields.required("normalized", normalized);
    fields.required("special", special);
  }

  friend bool operator==(const AddedToken&, const AddedToken&) = default;
};

/// A set of added tokens. Immutable.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// `normaliser` may be null. Throws FormatError if a token is empty, if an id is below 0 or above
  /// Vocabulary::kHighestId, or if two tokens have the same id or content.
  AddedTokens(std::vector<AddedToken> tokens, const NormalizerPtr& normaliser);

  /// Returns all tokens in order of id.
  const std::vector<AddedToken>& all() const { return tokens_; }
  /// Returns the token with this id, or null if there is none.
  const AddedToken* find(std::int32_t id) const;
  /// Returns the id of the token with this content, or -1 if there is none.
  std::int32_t find(std::string_view content) const;
  /// Returns the text that decoders receive for an added token, which is its form in normalised
  /// text. Returns an empty text if `id` is not an added token.
  std::string_view seen(std::int32_t id) const;

  /// Splits each part of the text at the added tokens that it contains. A call handles either the
  /// tokens that are matched before the normaliser runs or those that are matched after it. Special
  /// tokens are treated as plain text if `special` is false or if `plain` covers them.
  void cut(SplitText& parts, bool after_normaliser, bool special,
           const PlainParts& plain = {}) const;

 private:
  struct Finder {
    PieceTrie trie;
    std::bitset<256> first_bytes;
    char first = 0;  // the first byte of all tokens, if `single`
    bool any = false, single = true;
  };
  Finder finder(bool normalized) const;

  std::vector<AddedToken> tokens_;
  std::vector<std::string> seen_;  // parallel to tokens_
  std::unordered_map<std::int32_t, std::size_t> by_id_;
  std::unordered_map<std::string, std::int32_t> by_content_;
  Finder before_, after_;  // for tokens matched before and after the normaliser
};

}  // namespace weft
