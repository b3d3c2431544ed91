#include "weft/models/data/formats/sentence_pairs.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/data/rng.h"

namespace weft {
namespace {

constexpr double kShortShare = 0.1;

Rng rng_of(std::uint64_t seed, std::int64_t step, std::int64_t row) {
  return Rng(stable_hash("sentence_pair", seed), static_cast<std::uint32_t>(row),
             static_cast<std::uint32_t>(step));
}

std::vector<std::int32_t> joined(const Document& document, std::size_t begin, std::size_t end) {
  std::vector<std::int32_t> ids;
  for (std::size_t i = begin; i < end; ++i)
    ids.insert(ids.end(), document[i].begin(), document[i].end());
  return ids;
}

/// Returns the end of the range of sentences that starts at `begin` and has `tokens` tokens in
/// total. The range has at least `least` sentences and does not extend beyond the end of the
/// document.
std::size_t end_of(const Document& document, std::size_t begin, std::size_t least,
                   std::int64_t tokens) {
  std::int64_t taken = 0;
  std::size_t end = begin;
  while (end < document.size() && (end - begin < least || taken < tokens))
    taken += static_cast<std::int64_t>(document[end++].size());
  return end;
}

}  // namespace

SentencePairs::SentencePairs(std::vector<Document> documents, PairTask task, std::int64_t tokens)
    : documents_(std::move(documents)), firsts_{0}, task_(task), tokens_(tokens) {
  if (tokens < 2)
    throw ArgumentError(fmt::format("a pair needs at least 2 tokens, not {}", tokens));
  for (Document& document : documents_)
    std::erase_if(document, [](const auto& sentence) { return sentence.empty(); });
  std::erase_if(documents_, [](const Document& document) { return document.empty(); });
  for (const Document& document : documents_) {
    firsts_.push_back(firsts_.back() + static_cast<std::int64_t>(document.size()) - 1);
    for (const auto& sentence : document) all_tokens_ += static_cast<std::int64_t>(sentence.size());
  }
  if (places() == 0) {
    throw ArgumentError(
        fmt::format("sentence pairs need a document with at least two sentences: there are {} "
                    "documents with one "
                    "sentence each",
                    documents_.size()));
  }
  if (task == PairTask::next_sentence && documents_.size() < 2)
    throw ArgumentError("next-sentence pairs need at least two documents, but there is only one");
}

SentencePair SentencePairs::at(std::int64_t place, std::uint64_t seed, std::int64_t step,
                               std::int64_t row) const {
  Rng rng = rng_of(seed, step, row);
  return make(place, rng);
}

SentencePair SentencePairs::random(std::uint64_t seed, std::int64_t step, std::int64_t row) const {
  Rng rng = rng_of(seed, step, row);
  const std::int64_t place = rng.below(places());
  return make(place, rng);
}

SentencePair SentencePairs::make(std::int64_t place, Rng& rng) const {
  if (place < 0 || place >= places())
    throw ArgumentError(fmt::format("place {} is outside [0, {})", place, places()));
  // The last document that begins at or before this position. No pair can begin in a document with
  // a single sentence.
  const auto next = std::upper_bound(firsts_.begin(), firsts_.end(), place);
  const auto chosen = static_cast<std::size_t>(next - firsts_.begin()) - 1;
  const Document& document = documents_[chosen];
  const auto begin = static_cast<std::size_t>(place - firsts_[chosen]);
  const std::int64_t wanted = rng.uniform() < kShortShare ? 2 + rng.below(tokens_ - 1) : tokens_;
  const std::size_t end = end_of(document, begin, 2, wanted);
  const std::size_t middle =
      begin + 1 + static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(end - begin) - 1));
  SentencePair pair{joined(document, begin, middle), joined(document, middle, end),
                    rng.uniform() < 0.5 ? 1 : 0};
  if (pair.label == 0) return pair;
  if (task_ == PairTask::sentence_order) {
    std::swap(pair.first, pair.second);
    return pair;
  }
  auto other = static_cast<std::size_t>(rng.below(this->documents() - 1));
  if (other >= chosen) ++other;
  const auto start =
      static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(documents_[other].size())));
  const std::int64_t left = wanted - static_cast<std::int64_t>(pair.first.size());
  pair.second = joined(documents_[other], start, end_of(documents_[other], start, 1, left));
  return pair;
}

PairTokens join_pair(const SentencePair& pair, std::int32_t cls_id, std::int32_t sep_id,
                     std::int64_t context) {
  if (context < 5)
    throw ArgumentError(
        fmt::format("a sentence pair needs a context of at least 5, not {}", context));
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
