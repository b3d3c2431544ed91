// Byte-pair encoding (Sennrich et al. 2016): of all neighbours, those of the first merge in the
// list are joined, the leftmost first, until no merge is left.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/export.h"
#include "weft/models/tokenizers/subwords/vocabulary.h"
#include "weft/models/tokenizers/subwords/word_pieces.h"

namespace WEFT_API weft {
namespace subwords {

class Bpe : public VocabularyModel {
 public:
  static constexpr const char* kName = "BPE";
  using Merges = std::vector<std::pair<std::string, std::string>>;

  struct Settings {
    std::optional<double> dropout = {};  // read only to be refused
    std::optional<std::string> unknown_token = {};
    std::optional<std::string> prefix = {};  // of pieces that go on
    std::optional<std::string> suffix = {};  // of pieces at the end of a word
    bool fuse_unknown = false;
    bool byte_fallback = false;  // what is unknown becomes its bytes, "<0x0A>"
    bool ignore_merges = false;  // a word that is a piece is that piece
  };

  Bpe() = default;
  /// Throws FormatError as prepare().
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
  /// Builds what segment() needs; `takes_bytes`: words are bytes, not spelled in GPT-2's alphabet
  /// as pieces are. Throws FormatError for merges of pieces that are not in the vocabulary, and for
  /// dropout.
  void prepare(bool takes_bytes);
  /// False where words must be spelled, whatever comes before.
  bool can_take_bytes() const {
    return !settings_.byte_fallback && !settings_.prefix && !settings_.suffix;
  }

  void segment(std::string_view word, std::vector<SubwordSpan>& out) const override;
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
  std::int32_t symbol_of(std::string_view character, bool first, bool last) const;
  bool add_bytes(std::string_view character, std::uint32_t at, std::vector<SubwordSpan>& out) const;
  void split(std::string_view word, std::vector<SubwordSpan>& out) const;
  void merge_few(std::vector<SubwordSpan>& symbols, std::size_t first) const;
  void merge_many(std::vector<SubwordSpan>& symbols, std::size_t first) const;

  Settings settings_;
  Merges merges_;

  bool takes_bytes_ = false;
  std::int32_t unknown_ = -1;
  Vocabulary by_bytes_;                           // pieces as the bytes that they spell
  std::array<std::int32_t, 256> byte_ids_{};      // of the pieces of one byte, or of one ASCII sign
  std::array<std::int32_t, 256> fallback_ids_{};  // "<0x0A>"
  // A hash table of pairs of ids; a free slot has no rank.
  std::vector<std::uint64_t> pairs_;
  std::vector<Merge> found_;
};

}  // namespace subwords
}  // namespace weft
