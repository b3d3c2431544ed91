#include "weft/models/vectors/glove.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/models/data/batching/shuffle.h"
#include "weft/ops/kernels/linalg/row_products.h"

namespace weft {
namespace {

// Approximate time that a worker needs per element with the default options.
constexpr double kNsPerElement = 200;

void check_glove(const GloveOptions& o) {
  if (o.width < 1 || o.epochs < 1) {
    throw ArgumentError(
        fmt::format("width ({}) and epochs ({}) must be at least 1", o.width, o.epochs));
  }
  if (!(o.rate > 0) || !(o.max_count > 0))
    throw ArgumentError(
        fmt::format("rate ({}) and most ({}) must be positive", o.rate, o.max_count));
}

}  // namespace

Glove::Glove(const SparseMatrix& counts, const GloveOptions& options)
    : counts_(counts),
      options_(options),
      words_(counts.rows, options.width + 2),
      contexts_(counts.rows, options.width + 2),
      word_squares_(counts.rows, options.width + 2),
      context_squares_(counts.rows, options.width + 2) {
  check_glove(options);
  if (counts.value.empty())
    throw ArgumentError("the co-occurrence counts are empty: no two words are within a window");
  const std::int64_t step = kShards * kShardCounts, width = options.width;
  steps_per_epoch_ = (std::ssize(counts.value) + step - 1) / step;
  row_.resize(counts.value.size());
  const RandomStream random{options.seed, 0, 0};
  std::uint64_t element = 0;
  for (std::int64_t r = 0; r < counts.rows; ++r) {
    std::fill(row_.begin() + counts.begin(r), row_.begin() + counts.end(r),
              static_cast<std::int32_t>(r));
    for (RowMatrix* matrix : {&words_, &contexts_}) {
      for (std::int64_t i = 0; i < width; ++i) {
        matrix->row(r)[i] =
            (uniform_float(random.word(element++)) - 0.5f) / static_cast<float>(width + 1);
      }
    }
    words_.row(r)[width + 1] = 1;
    contexts_.row(r)[width] = 1;
    std::fill_n(word_squares_.row(r), word_squares_.stride(), 1.0f);
    std::fill_n(context_squares_.row(r), context_squares_.stride(), 1.0f);
  }
  order_ = shuffled(std::ssize(counts.value), options.seed);
  for (std::int64_t s = 0; s < kShards; ++s) shards_.emplace_back(width + 2);
  for (std::int32_t p = 0; p < RowSums::kParts; ++p) totals_.emplace_back(width + 2);
}

double Glove::weight(double count) const {
  return count < options_.max_count ? std::pow(count / options_.max_count, options_.power) : 1;
}

std::vector<std::int64_t> Glove::elements(std::int64_t step) const {
  const std::int64_t begin = step % steps_per_epoch_ * kShards * kShardCounts;
  const std::int64_t end = std::min(begin + kShards * kShardCounts, std::ssize(order_));
  return {order_.begin() + begin, order_.begin() + end};
}

double Glove::cost(std::int64_t element) const {
  const auto at = static_cast<std::size_t>(element);
  const float *const w = words_.row(row_[at]), *const c = contexts_.row(counts_.column[at]);
  double product = 0;
  for (std::int64_t i = 0; i < words_.width(); ++i)
    product += static_cast<double>(w[i]) * static_cast<double>(c[i]);
  const double count = counts_.value[at], off = product - std::log(count);
  return 0.5 * weight(count) * off * off;
}

void Glove::add_updates(std::int64_t number, Shard& shard) const {
  const std::int64_t first = (step_ % steps_per_epoch_ * kShards + number) * kShardCounts;
  const std::int64_t last = std::min(first + kShardCounts, std::ssize(order_));
  const std::int64_t width = words_.stride();
  for (std::int64_t i = first; i < last; ++i) {
    const auto at = static_cast<std::size_t>(order_[static_cast<std::size_t>(i)]);
    const std::int32_t word = row_[at], context = counts_.column[at];
    const float *const w = words_.row(word), *const c = contexts_.row(context);
    float product = 0;
    kernels::row_products(&w, 1, &c, 1, width, &product);
    const double count = counts_.value[at], off = product - std::log(count);
    const auto factor = static_cast<float>(weight(count) * off);
    shard.cost += 0.5 * factor * off;
    shard.words.reserve(1);
    shard.contexts.reserve(1);
    float *word_sum = shard.words.row(word), *context_sum = shard.contexts.row(context);
    kernels::add_row_sums(&word_sum, 1, &factor, 0, 0, &c, 1, width);
    kernels::add_row_sums(&context_sum, 1, &factor, 0, 0, &w, 1, width);
  }
}

double Glove::advance(Workers& workers) {
  if (step_ >= steps()) throw StateError("the training run has taken its last step");
  workers.for_chunks(
      kShards,
      [&](std::int64_t s, int) {
        Shard& shard = shards_[static_cast<std::size_t>(s)];
        shard.words.clear();
        shard.contexts.clear();
        shard.cost = 0;
        add_updates(s, shard);
      },
      kNsPerElement * static_cast<double>(kShards * kShardCounts));
  // AdaGrad requires the complete gradient of a row.
  workers.for_chunks(
      RowSums::kParts,
      [&](std::int64_t part, int) {
        const auto p = static_cast<std::int32_t>(part);
        Shard& total = totals_[static_cast<std::size_t>(part)];
        total.words.clear();
        total.contexts.clear();
        for (const Shard& shard : shards_) {
          shard.words.for_part(p,
                               [&](std::int32_t n, const float* sum) { total.words.add(n, sum); });
          shard.contexts.for_part(
              p, [&](std::int32_t n, const float* sum) { total.contexts.add(n, sum); });
        }
        const auto descend = [&](RowMatrix& matrix, RowMatrix& squares, std::int64_t fixed) {
          return [&matrix, &squares, fixed, rate = static_cast<float>(options_.rate)](
                     std::int32_t n, const float* gradient) {
            kernels::adagrad_row(matrix.row(n), squares.row(n), gradient, matrix.stride(), rate);
            matrix.row(n)[fixed] = 1;
          };
        };
        total.words.for_part(p, descend(words_, word_squares_, options_.width + 1));
        total.contexts.for_part(p, descend(contexts_, context_squares_, options_.width));
      },
      kNsPerElement * static_cast<double>(kShards * kShardCounts));
  double cost = 0;
  for (const Shard& shard : shards_) cost += shard.cost;
  return cost / static_cast<double>(elements(step_++).size());
}

WordVectors Glove::vectors(const WordCounts& words) const {
  Tensor all = Tensor::empty(DType::f32, {counts_.rows, options_.width});
  for (std::int64_t r = 0; r < counts_.rows; ++r) {
    for (std::int64_t i = 0; i < options_.width; ++i) {
      all.mutable_data<float>()[r * options_.width + i] = words_.row(r)[i] + contexts_.row(r)[i];
    }
  }
  return WordVectors(words.words(), std::move(all));
}

}  // namespace weft
