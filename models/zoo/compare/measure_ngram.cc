#include "weft/models/zoo/compare/measure_ngram.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/models/generate/sampling.h"
#include "weft/models/language/ngram.h"
#include "weft/models/zoo/compare/timing.h"

namespace weft::zoo {
namespace {

using Ids = std::span<const std::int32_t>;
/// Returns the mean loss over all ids except the first. Each id is predicted from the preceding ids
/// in its window of `window` ids.
double loss_in_windows(const NGramModel& model, Ids ids, std::size_t window) {
  double sum = 0;
  for (std::size_t i = 1; i < ids.size(); ++i) {
    const std::size_t begin = (i - 1) / window * window;
    sum -= std::log(model.probability(ids.subspan(begin, i - begin), ids[i]));
  }
  return sum / static_cast<double>(ids.size() - 1);
}

/// Returns the log-probability of every id after `history`.
std::vector<double> next_token_scores(const NGramModel& model, Ids history) {
  std::vector<double> scores;
  for (std::int32_t id = 0; id < model.vocab(); ++id)
    scores.push_back(std::log(model.probability(history, id)));
  return scores;
}

/// Returns the order with the lowest validation loss. The search stops at the first order that does
/// not improve the loss.
int best_order(const Comparison& common) {
  const Ids all(common.train);
  const Ids rest = all.subspan(all.size() - all.size() / 10),
            counted = all.first(all.size() - rest.size());
  double least = std::numeric_limits<double>::infinity();
  int best = 2;
  for (int order = 2; order <= 10; ++order) {
    const NGramModel model(counted, {.order = order, .vocab = common.vocab});
    const double loss = loss_in_windows(model, rest, rest.size());
    if (loss >= least) break;
    least = loss;
    best = order;
  }
  return best;
}

}  // namespace

LanguageRow measure_ngram(const Comparison& common) {
  const int order = best_order(common);
  const Clock::time_point begin = Clock::now();
  const NGramModel model(common.train, {.order = order, .vocab = common.vocab});
  LanguageRow row{.name = fmt::format("{}-gram, Kneser-Ney", order),
                  .parameters = static_cast<std::int64_t>(model.size())};
  row.train_tokens_per_second = static_cast<double>(common.train.size()) / seconds_since(begin);
  const Ids text(common.held_out.ids);
  row.windows = loss_in_windows(model, text, static_cast<std::size_t>(common.window));
  row.whole = loss_in_windows(model, text, text.size());

  row.ids = common.prompt;
  for (std::int64_t i = 0; i < common.sample; ++i) {
    const auto id = sample_id(next_token_scores(model, row.ids), common.settings.seed, 0, i);
    row.ids.push_back(static_cast<std::int32_t>(id));
  }
  for (const std::int64_t context : common.contexts) {
    const auto history_size = std::min(static_cast<std::size_t>(context), text.size());
    row.generating.emplace_back(
        context, median_microseconds([&] { next_token_scores(model, text.first(history_size)); }));
  }
  return row;
}

}  // namespace weft::zoo
