#include "weft/models/tokenizers/subwords/unigram_model.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft::subwords {

UnigramModel::UnigramModel(std::vector<std::pair<std::string, double>> pieces,
                           std::optional<std::int32_t> unknown, bool byte_fallback)
    : unknown_(unknown), pieces_(std::move(pieces)), byte_fallback_(byte_fallback) {
  prepare(false);
}

void UnigramModel::prepare(bool) {
  if (unknown_ && (*unknown_ < 0 || *unknown_ >= static_cast<std::int64_t>(pieces_.size()))) {
    throw FormatError(
        fmt::format("'unk_id' is {}, but there are {} pieces", *unknown_, pieces_.size()));
  }
  std::vector<std::pair<std::string_view, std::int32_t>> ids;
  ids.reserve(pieces_.size());
  for (const auto& [piece, score] : pieces_)
    ids.emplace_back(piece, static_cast<std::int32_t>(ids.size()));
  vocabulary_ = Vocabulary(ids);
  model_.emplace(pieces_, unknown_, byte_fallback_);
}

}  // namespace weft::subwords
