// Scores texts with generative models.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/data/batching/by_length.h"
#include "weft/models/tasks/common/bits_per_byte.h"
#include "weft/models/tasks/common/serialised_texts.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/text/tokenizers/text_stream.h"
#include "weft/models/training/run_distributed.h"

namespace weft {

double ScoredText::bits_per_byte() const {
  const std::int64_t count = std::ssize(ids);
  return weft::bits_per_byte(-score.total() / static_cast<double>(count), count, bytes);
}

std::int64_t TextGenerator::text_bytes(const TokenIds& front, const TokenIds& ids) const {
  const Tokenizer targets = tokenizer().targets();
  TextStream stream(targets, front);
  std::size_t bytes = 0;
  for (const std::int64_t id : ids) bytes += stream.add(id).size();
  return static_cast<std::int64_t>(bytes + stream.finish().size());
}

std::vector<ContinuationScore> TextGenerator::score_cached(const std::vector<TokenIds>&,
                                                           const std::vector<TokenIds>&) {
  throw ArgumentError("scores with key/value caches are for decoders only");
}

std::vector<ScoredText> TextGenerator::score_texts(const std::vector<TextToScore>& texts,
                                                   const ScoreOptions& options) {
  static_cast<void>(tokenizer());  // throws if the model has no tokenizer
  std::vector<Continuation> read;
  for (const TextToScore& text : texts)
    read.push_back(with_number(read.size(), [&] { return read_continuation(text); }));
  std::vector<ContinuationScore> scores = score_ids(read, options);
  const TokenIds start = start_of(options.start);
  std::vector<ScoredText> result;
  for (std::size_t i = 0; i < read.size(); ++i) {
    const std::int64_t bytes = text_bytes(continues() ? read[i].prompt : start, read[i].ids);
    result.push_back({std::move(read[i].ids), std::move(scores[i]), bytes});
  }
  return result;
}

Continuation TextGenerator::read_continuation(const TextToScore& text) const {
  if (!continues()) return {read(text.prompt), read_output(text.text)};
  if (!text.prompt.empty()) {
    Continuation result{read(text.prompt), encode_continuation(text.text)};
    if (result.ids.empty()) throw DataError("it is empty: there is nothing to score");
    return result;
  }
  Continuation result{{}, read_output(text.text)};
  if (result.ids.size() < 2)
    throw DataError("it has only one token, and without a prompt the first token is not scored");
  result.prompt = {result.ids.front()};
  result.ids.erase(result.ids.begin());
  return result;
}

void TextGenerator::fit(std::vector<Continuation>& continuations,
                        const ScoreOptions& options) const {
  const std::int64_t most = context(), start = std::ssize(start_of(options.start));
  for (std::size_t i = 0; i < continuations.size(); ++i) {
    auto& [prompt, ids] = continuations[i];
    const std::int64_t before = std::ssize(prompt), behind = std::ssize(ids);
    std::int64_t kept_before = before, kept_behind = behind;
    // The last id is predicted but is not an input, so it needs no position.
    if (continues()) {
      if (before - 1 <= most - behind) continue;
      kept_behind = std::min(behind, most);
      kept_before = std::min(before, most - kept_behind + 1);
    } else {
      if (before <= most && behind + start - 1 <= most) continue;
      kept_before = std::min(before, most);
      kept_behind = std::min(behind, most - start + 1);
    }
    report_truncation({i, before + behind, kept_before + kept_behind}, options.on_cut);
    prompt = cut_prompt(prompt, kept_before);
    ids.resize(static_cast<std::size_t>(kept_behind));
  }
}

std::vector<ContinuationScore> TextGenerator::score_ids(std::vector<Continuation>& continuations,
                                                        const ScoreOptions& options) {
  if (options.batch < 1)
    throw ArgumentError(fmt::format("batch must be at least 1, not {}", options.batch));
  fit(continuations, options);
  const auto most = static_cast<std::size_t>(options.batch);
  std::vector<std::size_t> sizes;
  for (const Continuation& one : continuations) sizes.push_back(one.prompt.size() + one.ids.size());
  const std::vector<std::size_t> order = by_length(sizes);
  const TokenIds start = start_of(options.start);
  std::vector<ContinuationScore> scores(order.size());
  const auto part = [&](std::int64_t p) {
    const std::size_t first = static_cast<std::size_t>(p) * most;
    return std::span(order).subspan(first, std::min(most, order.size() - first));
  };
  const auto parts = static_cast<std::int64_t>((order.size() + most - 1) / most);
  const auto scores_of_part = [&](std::int64_t p) {
    std::vector<TokenIds> prompts, ids;
    for (const std::size_t i : part(p)) {
      prompts.push_back(continuations[i].prompt);
      ids.push_back(continuations[i].ids);
    }
    return options.cached ? score_cached(prompts, ids) : score(prompts, ids, start);
  };
  const auto put = [&](std::int64_t p, std::vector<ContinuationScore> found) {
    for (std::size_t i = 0; i < found.size(); ++i) scores[part(p)[i]] = std::move(found[i]);
  };
  if (world_.size() == 1) {
    for (std::int64_t p = 0; p < parts; ++p) put(p, scores_of_part(p));
    return scores;
  }
  distribute_over_ranks(
      world_, parts, [&](std::int64_t p) { return serialise(scores_of_part(p)); },
      [&](std::int64_t p, const std::string& made) { put(p, parse_scores(made)); });
  return scores;
}

}  // namespace weft
