#include "weft/models/data/sentence_pairs.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/data/draws.h"

namespace weft {

SentencePair sentence_pair(std::span<const Document> documents, PairTask task, std::uint64_t seed,
                           std::int64_t step, std::int64_t row) {
  std::int64_t places = 0, with_text = 0;
  for (const Document& document : documents) {
    if (document.size() > 1) places += static_cast<std::int64_t>(document.size()) - 1;
    if (!document.empty()) ++with_text;
  }
  if (places == 0) throw ArgumentError("sentence pairs need a document of at least two sentences");
  if (task == PairTask::next_sentence && with_text < 2)
    throw ArgumentError("sentences that do not follow need a second document");

  Draws draws(stable_hash("sentence_pair", seed), static_cast<std::uint32_t>(row),
              static_cast<std::uint32_t>(step));
  std::int64_t place = draws.below(places);
  std::size_t chosen = 0;
  for (;; ++chosen) {
    const auto here = static_cast<std::int64_t>(documents[chosen].size()) - 1;
    if (here > 0 && place < here) break;
    place -= std::max<std::int64_t>(here, 0);
  }
  const Document& document = documents[chosen];
  SentencePair pair{document[static_cast<std::size_t>(place)],
                    document[static_cast<std::size_t>(place) + 1], draws.uniform() < 0.5 ? 1 : 0};
  if (pair.label == 0) return pair;
  if (task == PairTask::sentence_order) {
    std::swap(pair.first, pair.second);
    return pair;
  }
  std::int64_t other = draws.below(with_text - 1);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (i == chosen || documents[i].empty() || other-- > 0) continue;
    const auto size = static_cast<std::int64_t>(documents[i].size());
    pair.second = documents[i][static_cast<std::size_t>(draws.below(size))];
    break;
  }
  return pair;
}

PairTokens join_pair(const SentencePair& pair, std::int32_t cls_id, std::int32_t sep_id,
                     std::int64_t context) {
  if (context < 5)
    throw ArgumentError(fmt::format("a pair of sentences needs a context of 5, not {}", context));
  std::size_t first = pair.first.size(), second = pair.second.size();
  while (first + second + 3 > static_cast<std::size_t>(context))
    --(first > second ? first : second);
  PairTokens tokens;
  tokens.ids.push_back(cls_id);
  tokens.ids.insert(tokens.ids.end(), pair.first.begin(),
                    pair.first.begin() + static_cast<std::ptrdiff_t>(first));
  tokens.ids.push_back(sep_id);
  tokens.token_types.assign(tokens.ids.size(), 0);
  tokens.ids.insert(tokens.ids.end(), pair.second.begin(),
                    pair.second.begin() + static_cast<std::ptrdiff_t>(second));
  tokens.ids.push_back(sep_id);
  tokens.token_types.resize(tokens.ids.size(), 1);
  return tokens;
}

}  // namespace weft
