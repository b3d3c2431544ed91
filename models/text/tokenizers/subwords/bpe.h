// Byte-pair encoding (Sennrich et al. 2016): repeatedly merges the adjacent pair whose merge is
// first in the list, at its leftmost occurrence first, until no merge applies.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/text/tokenizers/subwords/joints.h"
#include "weft/models/text/tokenizers/subwords/vocabulary.h"
#include "weft/models/text/tokenizers/subwords/word_pieces.h"

namespace WEFT_API weft {
namespace subwords {

/// The BPE model of a tokenizer.json.
class Bpe : public VocabularyModel {
 public:
  static constexpr const char* kName = "BPE";
  using Merges = std::vector<std::pair<std::string, std::string>>;

  struct Settings {
    std::optional<double> dropout = {};  // not supported: values other than 0 are rejected
    std::optional<std::string> unknown_token = {};
    std::optional<std::string> prefix = {};  // prefix of pieces that continue a word
    std::optional<std::string> suffix = {};  // suffix of pieces at the end of a word
    bool fuse_unknown = false;               // adjacent unknown characters are encoded as one id
    bool byte_fallback = false;  // unknown characters are encoded as byte pieces ("<0x0A>")
    bool ignore_merges = false;  // words in the vocabulary are not split
  };

  Bpe() = default;
  /// Throws FormatError under the same conditions as prepare().
  Bpe(Vocabulary vocabulary, Merges merges, Settings settings, bool takes_bytes);
  template <class Fields>
  void describe(Fields& fields) {
    fields.optional("dropout", settings_.dropout);
    fields.optional("unk_token", settings_.unknown_token);
    fields.optional("continuing_subword_prefix", settings_.prefix);
    fields.optional("end_of_word_suffix", settings_.suffix);
    fields.optional("fuse_unk", settings_.fuse_unknown);
    fields.optional("byte_fallback", settings_.byte_fallback);
    fields.optional("ignore_merges", settings_.ignore_merges);
    fields.vocabulary("vocab", vocabulary_);
    fields.merges("merges", merges_);
  }
  /// Builds the tables that segment() uses. If `takes_bytes` is true, words are raw bytes instead
  /// of characters in GPT-2's byte alphabet; pieces are still spelled in that alphabet. Throws
  /// FormatError if the pieces of a merge or the unknown token are not in the vocabulary, or if
  /// dropout is enabled.
  void prepare(bool takes_bytes);
  /// Returns false if the model can never accept raw bytes because it has byte fallback, a prefix
  /// or a suffix.
  bool can_take_bytes() const {
    return !settings_.byte_fallback && !settings_.prefix && !settings_.suffix;
  }

  void segment(std::string_view word, std::vector<SubwordSpan>& out) const override;
  std::size_t independent_size(std::string_view word) const override;
  bool takes_bytes() const override { return takes_bytes_; }
  std::int32_t unknown() const override { return unknown_; }
  bool begins_word(std::string_view piece) const override;

 private:
  struct Merge {
    std::uint32_t rank = kNoRank;
    std::int32_t id = -1;
  };
  static constexpr std::uint32_t kNoRank = 0xFFFFFFFFU;

  Merge merge_of(std::int32_t left, std::int32_t right) const;
  void add_merges();
  void add_characters();
  void add_joints();
  bool is_unknown(std::string_view word, std::size_t begin, std::size_t end) const;
  std::int32_t id_of_character(std::string_view character) const;
  std::int32_t symbol_of(std::string_view character, bool first, bool last) const;
  bool add_bytes(std::string_view character, std::uint32_t at, std::vector<SubwordSpan>& out) const;
  void split(std::string_view word, std::vector<SubwordSpan>& out) const;
  void merge_few(std::vector<SubwordSpan>& symbols, std::size_t first) const;
  void merge_many(std::vector<SubwordSpan>& symbols, std::size_t first) const;

  Settings settings_;
  Merges merges_;

  bool takes_bytes_ = false;
  std::int32_t unknown_ = -1;
  Vocabulary by_bytes_;                       // the pieces as raw bytes
  std::array<std::int32_t, 256> byte_ids_{};  // ids of pieces with a single byte or ASCII character
  /// Ids of pieces with a single character, by code point, or -1. Such lookups are frequent,
  /// because SentencePiece replaces each blank by U+2581.
  std::vector<std::int32_t> character_ids_;
  std::array<std::int32_t, 256> fallback_ids_{};  // ids of byte pieces such as "<0x0A>"
  // A hash table that maps pairs of ids to merges. A free slot has the rank kNoRank.
  std::vector<std::uint64_t> pairs_;
  std::vector<Merge> found_;
  bool has_joints_ = false;
  // True if unknown characters are dropped or fused, so that their neighbours may be joined.
  bool unknown_joins_ = false;
  Joints joints_;
};

}  // namespace subwords
}  // namespace weft
