// Models that look up words in a vocabulary, either as a whole (WordLevel) or by their longest
// prefixes (WordPiece).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/text/tokenizers/subwords/piece_trie.h"
#include "weft/models/text/tokenizers/subwords/subword_model.h"
#include "weft/models/text/tokenizers/subwords/vocabulary.h"

namespace WEFT_API weft {
namespace subwords {

/// Base class of models that have a vocabulary.
class VocabularyModel : public SubwordModel {
 public:
  std::int64_t size() const override { return vocabulary_.size(); }
  std::int32_t find(std::string_view piece) const override { return vocabulary_.find(piece); }
  std::string_view piece(std::int32_t id) const override { return vocabulary_.piece(id); }

 protected:
  Vocabulary vocabulary_;
};

/// Looks up whole words. A word is a single piece or unknown.
class WordLevel : public VocabularyModel {
 public:
  static constexpr const char* kName = "WordLevel";

  WordLevel() = default;
  WordLevel(Vocabulary vocabulary, std::string unknown_token);
  template <class Fields>
  void describe(Fields& fields) {
    fields.vocabulary("vocab", vocabulary_);
    fields.required("unk_token", unknown_token_);
  }
  void prepare(bool takes_bytes);
  void segment(std::string_view word, std::vector<SubwordSpan>& out) const override;
  std::int32_t unknown() const override { return unknown_; }
  bool begins_word(std::string_view) const override { return true; }

 private:
  std::string unknown_token_ = "<unk>";
  std::int32_t unknown_ = -1;
};

/// Greedy longest-match-first segmentation from left to right (Wu et al. 2016). If any part of a
/// word has no match, the whole word is unknown.
class WordPiece : public VocabularyModel {
 public:
  static constexpr const char* kName = "WordPiece";

  WordPiece() = default;
  WordPiece(Vocabulary vocabulary, std::string unknown_token, std::string prefix = "##");
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("unk_token", unknown_token_);
    fields.required("continuing_subword_prefix", prefix_);
    fields.required("max_input_chars_per_word", longest_word_);
    fields.vocabulary("vocab", vocabulary_);
  }
  void prepare(bool takes_bytes);
  void segment(std::string_view word, std::vector<SubwordSpan>& out) const override;
  std::int32_t unknown() const override { return unknown_; }
  bool begins_word(std::string_view piece) const override {
    return prefix_.empty() || !piece.starts_with(prefix_);
  }

 private:
  std::string unknown_token_ = "[UNK]";
  std::string prefix_ = "##";         // prefix of pieces that continue a word
  std::uint64_t longest_word_ = 100;  // number of characters; longer words are unknown
  PieceTrie first_, next_;            // pieces that start a word, and pieces that continue it
  std::int32_t unknown_ = -1;
};

}  // namespace subwords
}  // namespace weft
