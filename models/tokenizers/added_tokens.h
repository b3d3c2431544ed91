// Tokens that stand beside a model's vocabulary and are found in texts before anything else.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/models/tokenizers/encode_options.h"
#include "weft/models/tokenizers/normalizers/normalizer.h"
#include "weft/models/tokenizers/parted_text.h"
#include "weft/models/tokenizers/subwords/piece_trie.h"

namespace WEFT_API weft {

struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  bool single_word = false;  // not within a word
  bool lstrip = false;       // takes white space in front along
  bool rstrip = false;       // takes white space behind along
  bool normalized = true;    // is looked for behind the normaliser, and normalised itself
  bool special = false;      // is left out of decoded text

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
  /// `normaliser` may be null. Throws FormatError for a token that is empty, or an id that is none
  /// (Vocabulary::kHighestId).
  AddedTokens(std::vector<AddedToken> tokens, const NormalizerPtr& normaliser);

  /// In order of id.
  const std::vector<AddedToken>& all() const { return tokens_; }
  /// Null where no added token has this id.
  const AddedToken* find(std::int32_t id) const;
  /// -1 for none.
  std::int32_t find(std::string_view content) const;
  /// What decoders see of an added token: as it stands in normalised texts.
  std::string_view seen(std::int32_t id) const;

  /// Cuts what is found out of every part: those that are looked for before the normaliser, or
  /// those behind it. Special ones stay text where `special` is false, and in `plain`.
  void cut(PartedText& parts, bool behind_normaliser, bool special,
           const PlainParts& plain = {}) const;

 private:
  struct Finder {
    PieceTrie trie;
    std::bitset<256> first_bytes;
    char first = 0;  // the only one, if `single`
    bool any = false, single = true;
  };
  Finder finder(bool normalized) const;

  std::vector<AddedToken> tokens_;
  std::vector<std::string> seen_;  // as tokens_
  std::unordered_map<std::int32_t, std::size_t> by_id_;
  std::unordered_map<std::string, std::int32_t> by_content_;
  Finder before_, behind_;  // of the normaliser
};

}  // namespace weft
