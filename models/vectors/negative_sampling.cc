#include "weft/models/vectors/negative_sampling.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/ops/kernels/linalg/row_products.h"

namespace weft {
namespace {

constexpr double kLastRate = 1e-4;
// Limit on the learning rate times the number of updates of a row in one step, all of which are
// computed from the row as it was before the step. Each update adds at most h^2 / 4 to the
// curvature of the row's loss; for h^2 = 10, steps overshoot if the limit is 0.8 or more.
constexpr double kMaxUpdatesTimesRate = 0.75;
// Approximate time that a worker needs per word with the default options.
constexpr double kNsPerWord = 500;

void check_sampling(const NegativeSamplingOptions& o) {
  if (o.width < 1 || o.epochs < 1) {
    throw ArgumentError(
        fmt::format("width ({}) and epochs ({}) must be at least 1", o.width, o.epochs));
  }
  if (!(o.rate > 0))
    throw ArgumentError(fmt::format("the rate must be positive, but is {}", o.rate));
  if (!o.subwords) return;
  const SubwordOptions& s = *o.subwords;
  if (s.shortest < 1 || s.longest < s.shortest || s.buckets < 1) {
    throw ArgumentError(fmt::format(
        "n-grams of {} to {} characters in {} buckets: they require 1 <= shortest <= longest "
        "and at least 1 bucket",
        s.shortest, s.longest, s.buckets));
  }
}

}  // namespace

// Working memory of a shard: sums and buffers for one example.
struct NegativeSampling::Shard {
  explicit Shard(std::int64_t width)
      : rows(width),
        candidates(width),
        mean(static_cast<std::size_t>(kernels::padded_row(width))),
        mean_sum(mean.size()) {}

  RowSums rows, candidates;
  WordWindows::Scratch windows;
  std::vector<const float*> inputs, targets;
  std::vector<float*> input_sums, target_sums;
  std::vector<float> steps;
  std::vector<float> mean, mean_sum;
  std::vector<std::int32_t> mean_rows;
};

NegativeSampling::~NegativeSampling() = default;

NegativeSampling::NegativeSampling(const WordText& text, const NegativeSamplingOptions& options)
    : text_(text), options_(options), windows_(text, options.windows) {
  check_sampling(options);
  const std::int64_t words = text.counts.size();
  // CBOW updates a row once per word, skip-gram once per context word.
  const double updates = windows_.largest_share() * (options.cbow ? 1 : options.windows.window + 1);
  const double most =
      kMaxUpdatesTimesRate / (updates * options.rate * static_cast<double>(kShards));
  shard_words_ = static_cast<std::int64_t>(std::clamp(most, 1.0, static_cast<double>(kShardWords)));
  steps_per_epoch_ = (text.size() + step_words() - 1) / step_words();
  for (std::int32_t w = 0; w < words; ++w) {
    word_rows_.push_back(w);
    if (options.subwords) {
      for (const std::int32_t bucket : subword_buckets(text.counts.word(w), *options.subwords))
        word_rows_.push_back(static_cast<std::int32_t>(words) + bucket);
    }
    word_rows_end_.push_back(static_cast<std::int64_t>(word_rows_.size()));
  }
  rows_ = RowMatrix(words + (options.subwords ? options.subwords->buckets : 0), options.width);
  output_rows_ = RowMatrix(words, options.width);
  const RandomStream random{options.windows.seed, 0, 0};
  std::uint64_t element = 0;
  for (std::int64_t r = 0; r < rows_.rows(); ++r) {
    for (std::int64_t i = 0; i < options.width; ++i) {
      rows_.row(r)[i] =
          (uniform_float(random.word(element++)) - 0.5f) / static_cast<float>(options.width);
    }
  }
  for (std::int64_t s = 0; s < kShards; ++s) shards_.emplace_back(options.width);
}

double NegativeSampling::rate() const {
  const double left = 1 - static_cast<double>(step_) / static_cast<double>(steps());
  return options_.rate * std::max(left, kLastRate);
}

std::span<const std::int32_t> NegativeSampling::rows_of(std::int32_t word) const {
  const std::int64_t begin = word == 0 ? 0 : word_rows_end_[static_cast<std::size_t>(word - 1)];
  const std::int64_t end = word_rows_end_[static_cast<std::size_t>(word)];
  return std::span(word_rows_)
      .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

void NegativeSampling::mean_of(std::span<const std::int32_t> rows, float* to) const {
  std::fill_n(to, rows_.stride(), 0.0f);
  const float share = 1 / static_cast<float>(rows.size());
  for (const std::int32_t r : rows) {
    const float* const row = rows_.row(r);
    kernels::add_row_sums(&to, 1, &share, 0, 0, &row, 1, rows_.stride());
  }
}

// Uses the rows of the context words as inputs, without copies.
void NegativeSampling::take_rows(const WordWindows::Example& example, Shard& shard) const {
  shard.rows.reserve(std::ssize(example.context));
  for (const std::int32_t word : example.context) {
    shard.inputs.push_back(rows_.row(word));
    shard.input_sums.push_back(shard.rows.row(word));
  }
}

// Uses as input the mean of the context words (CBOW), or the mean of the word's own rows.
void NegativeSampling::take_mean(const WordWindows::Example& example, Shard& shard) const {
  shard.mean_rows.clear();
  const auto add = [&](std::int32_t word) {
    const auto rows = rows_of(word);
    shard.mean_rows.insert(shard.mean_rows.end(), rows.begin(), rows.end());
  };
  if (options_.cbow) {
    for (const std::int32_t word : example.context) add(word);
  } else {
    add(example.candidates.front());
  }
  mean_of(shard.mean_rows, shard.mean.data());
  std::fill(shard.mean_sum.begin(), shard.mean_sum.end(), 0.0f);
  shard.inputs.push_back(shard.mean.data());
  shard.input_sums.push_back(shard.mean_sum.data());
}

// Distributes the update of a mean equally over its rows.
void NegativeSampling::spread_mean(Shard& shard) const {
  const float share = 1 / static_cast<float>(shard.mean_rows.size());
  const float* const sum = shard.mean_sum.data();
  shard.rows.reserve(std::ssize(shard.mean_rows));
  for (const std::int32_t r : shard.mean_rows) {
    float* const to = shard.rows.row(r);
    kernels::add_row_sums(&to, 1, &share, 0, 0, &sum, 1, rows_.stride());
  }
}

// Collects the rows to predict, positives first. Returns the number of positives.
std::int64_t NegativeSampling::take_candidates(const WordWindows::Example& example,
                                               Shard& shard) const {
  const bool predicts_context = options_.subwords && !options_.cbow;
  const auto positives = predicts_context ? example.context : example.candidates.first(1);
  shard.candidates.reserve(std::ssize(positives) + std::ssize(example.candidates) - 1);
  for (const auto& words : {positives, example.candidates.subspan(1)}) {
    for (const std::int32_t word : words) {
      shard.targets.push_back(output_rows_.row(word));
      shard.target_sums.push_back(shard.candidates.row(word));
    }
  }
  return std::ssize(positives);
}

void NegativeSampling::add_updates(std::int64_t number, Shard& shard) const {
  const std::int64_t epoch = step_ / steps_per_epoch_;
  const std::int64_t begin = (step_ % steps_per_epoch_ * kShards + number) * shard_words_;
  if (begin >= text_.size()) return;
  const bool plain = !options_.cbow && !options_.subwords;
  const std::int64_t width = rows_.stride();
  const auto rate = static_cast<float>(this->rate());
  const auto use = [&](const WordWindows::Example& example) {
    shard.inputs.clear();
    shard.input_sums.clear();
    shard.targets.clear();
    shard.target_sums.clear();
    plain ? take_rows(example, shard) : take_mean(example, shard);
    const std::int64_t positives = take_candidates(example, shard);
    const std::int64_t m = std::ssize(shard.inputs), k = std::ssize(shard.targets);
    shard.steps.resize(static_cast<std::size_t>(m * k));
    float* const steps = shard.steps.data();
    kernels::row_products(shard.inputs.data(), m, shard.targets.data(), k, width, steps);
    kernels::logistic_steps(steps, m, k, positives, rate);
    // Every positive is paired with all negatives, so updates of negatives count once per positive.
    for (std::int64_t j = positives; positives > 1 && j < k; ++j)
      steps[j] *= static_cast<float>(positives);
    kernels::add_row_sums(shard.input_sums.data(), m, steps, k, 1, shard.targets.data(), k, width);
    kernels::add_row_sums(shard.target_sums.data(), k, steps, 1, k, shard.inputs.data(), m, width);
    if (!plain) spread_mean(shard);
  };
  windows_.for_examples(epoch, begin, begin + shard_words_, shard.windows, use);
}

void NegativeSampling::advance(Workers& workers) {
  if (step_ >= steps()) throw StateError("the training run has taken its last step");
  workers.for_chunks(
      kShards,
      [&](std::int64_t s, int) {
        Shard& shard = shards_[static_cast<std::size_t>(s)];
        shard.rows.clear();
        shard.candidates.clear();
        add_updates(s, shard);
      },
      kNsPerWord * static_cast<double>(step_words()));
  workers.for_chunks(
      RowSums::kParts,
      [&](std::int64_t part, int) {
        const float one = 1;
        const auto add_to = [&](RowMatrix& matrix) {
          return [&](std::int32_t number, const float* sum) {
            float* const row = matrix.row(number);
            kernels::add_row_sums(&row, 1, &one, 0, 0, &sum, 1, matrix.stride());
          };
        };
        for (const Shard& shard : shards_) {
          shard.rows.for_part(static_cast<std::int32_t>(part), add_to(rows_));
          shard.candidates.for_part(static_cast<std::int32_t>(part), add_to(output_rows_));
        }
      },
      kNsPerWord / 4 * static_cast<double>(step_words()));
  ++step_;
}

WordVectors NegativeSampling::vectors() const {
  Tensor all = Tensor::empty(DType::f32, {text_.counts.size(), options_.width});
  std::vector<float> mean(static_cast<std::size_t>(rows_.stride()));
  for (std::int64_t w = 0; w < text_.counts.size(); ++w) {
    mean_of(rows_of(static_cast<std::int32_t>(w)), mean.data());
    std::copy_n(mean.data(), options_.width, all.mutable_data<float>() + w * options_.width);
  }
  return WordVectors(text_.counts.words(), std::move(all));
}

std::vector<float> NegativeSampling::vector_of(std::string_view word) const {
  std::vector<std::int32_t> rows;
  if (const std::int32_t known = text_.counts.find(word); known >= 0) rows.push_back(known);
  if (options_.subwords) {
    for (const std::int32_t bucket : subword_buckets(word, *options_.subwords))
      rows.push_back(static_cast<std::int32_t>(text_.counts.size()) + bucket);
  }
  std::vector<float> mean(static_cast<std::size_t>(rows_.stride()), 0.0f);
  if (!rows.empty()) mean_of(rows, mean.data());
  mean.resize(static_cast<std::size_t>(options_.width));
  return mean;
}

}  // namespace weft
