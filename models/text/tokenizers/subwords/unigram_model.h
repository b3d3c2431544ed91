// The unigram model in the format of tokenizer.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/models/text/tokenizers/base/sentence_piece_text.h"
#include "weft/models/text/tokenizers/subwords/unigram.h"
#include "weft/models/text/tokenizers/subwords/word_pieces.h"

namespace WEFT_API weft {
namespace subwords {

/// A unigram model that reads its vocabulary and scores from a file.
class UnigramModel : public VocabularyModel {
 public:
  static constexpr const char* kName = "Unigram";

  UnigramModel() = default;
  /// `pieces` are in order of id, with their log-probabilities. Throws FormatError under the same
  /// conditions as prepare().
  UnigramModel(std::vector<std::pair<std::string, double>> pieces,
               std::optional<std::int32_t> unknown, bool byte_fallback);
  template <class Fields>
  void describe(Fields& fields) {
    fields.required("unk_id", unknown_);
    fields.scores("vocab", pieces_);
    fields.optional("byte_fallback", byte_fallback_);
  }
  void prepare(bool takes_bytes);
  void segment(std::string_view word, std::vector<SubwordSpan>& out) const override {
    model_->segment(word, out);
  }
  std::int32_t unknown() const override { return unknown_.value_or(-1); }
  bool begins_word(std::string_view piece) const override {
    return piece.starts_with(sentence_piece::kBlank);
  }

 private:
  std::optional<std::int32_t> unknown_;
  std::vector<std::pair<std::string, double>> pieces_;
  bool byte_fallback_ = false;
  std::optional<Unigram> model_;
};

}  // namespace subwords
}  // namespace weft
