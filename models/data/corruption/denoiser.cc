#include "weft/models/data/corruption/denoiser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft {
namespace {

constexpr std::string_view kObjectives[] = {"span-corruption", "ul2", "denoising", "gap-sentences"};

constexpr const char* kMask = "<mask>";
constexpr const char *kRegular = "[R]", *kSequential = "[S]", *kExtreme = "[X]";
constexpr std::int64_t kDefaultSentinels = 100;  // as in T5

std::string sentinel(std::int64_t i) { return fmt::format("<extra_id_{}>", i); }

SpanCorruptionOptions spans_of(const DenoisingOptions& options) {
  return {.density = options.density, .mean_span = options.mean_span};
}

/// Returns the number of sentinels that the objective needs; 0 if it uses none.
std::int64_t count_sentinels(const DenoisingOptions& options) {
  switch (options.objective) {
    case DenoisingObjective::span_corruption:
      return std::max(kDefaultSentinels, corrupted_spans(options.passage, spans_of(options)) + 1);
    case DenoisingObjective::ul2:
      return std::max(kDefaultSentinels, mixture_spans(options.passage) + 1);
    default: return 0;
  }
}

TokenIds joined(const std::vector<TokenIds>& sentences) {
  TokenIds ids;
  for (const TokenIds& sentence : sentences)
    ids.insert(ids.end(), sentence.begin(), sentence.end());
  return ids;
}

}  // namespace

ChoiceNames choice_names(DenoisingObjective) { return {"objective", kObjectives}; }

bool DenoisingOptions::reads_sentences() const {
  return objective == DenoisingObjective::gap_sentences ||
         (objective == DenoisingObjective::denoising && permute_sentences);
}

void DenoisingOptions::check() const {
  const auto require = [](bool holds, const char* field, auto value, const char* allowed) {
    if (!holds) throw ArgumentError(fmt::format("{} must be {}, not {}", field, allowed, value));
  };
  require(passage >= 8 && passage <= 1 << 20, "passage", passage, "in [8, 1048576]");
  require(mean_span >= 1 && mean_span <= 1000, "mean_span", mean_span, "in [1, 1000]");
  require(density > 0 && density < 1, "density", density, "in (0, 1)");
  for (const auto& [field, rate] : {std::pair{"infill_rate", infill_rate},
                                    {"mask_rate", mask_rate},
                                    {"delete_rate", delete_rate}})
    require(rate >= 0 && rate < 1, field, rate, "in [0, 1)");
  require(gap_ratio > 0 && gap_ratio < 1, "gap_ratio", gap_ratio, "in (0, 1)");
  if (objective == DenoisingObjective::denoising && !permute_sentences && !rotate &&
      infill_rate == 0 && mask_rate == 0 && delete_rate == 0)
    throw ArgumentError(
        "the denoising options enable no noise: all rates are 0, and permute_sentences and rotate "
        "are false");
}

const FieldList<DenoisingOptions>& DenoisingOptions::fields() {
  static const auto list =
      FieldList<DenoisingOptions>("the denoising options")
          .add("objective", &DenoisingOptions::objective, "pre-training objective")
          .add("passage", &DenoisingOptions::passage, "maximum number of tokens per passage")
          .add("mean_span", &DenoisingOptions::mean_span, "mean length of masked spans in tokens")
          .add("density", &DenoisingOptions::density, "fraction of the tokens that are masked")
          .add("permute_sentences", &DenoisingOptions::permute_sentences, "shuffle the sentences")
          .add("rotate", &DenoisingOptions::rotate, "rotate the text to start at a random token")
          .add("infill_rate", &DenoisingOptions::infill_rate,
               "fraction of the tokens that are masked in spans")
          .add("mask_rate", &DenoisingOptions::mask_rate,
               "fraction of the tokens that are masked individually")
          .add("delete_rate", &DenoisingOptions::delete_rate,
               "fraction of the tokens that are deleted")
          .add("gap_ratio", &DenoisingOptions::gap_ratio,
               "fraction of the sentences that are masked");
  return list;
}

std::vector<std::string> fields_of(DenoisingObjective objective) {
  switch (objective) {
    case DenoisingObjective::span_corruption: return {"mean_span", "density"};
    case DenoisingObjective::ul2: return {};
    case DenoisingObjective::denoising:
      return {"mean_span",   "permute_sentences", "rotate",
              "infill_rate", "mask_rate",         "delete_rate"};
    case DenoisingObjective::gap_sentences: return {"gap_ratio"};
  }
  return {};
}

std::int64_t min_sentences(DenoisingObjective objective) {
  return objective == DenoisingObjective::gap_sentences ? 2 : 1;
}

std::vector<std::string> denoising_symbols(const DenoisingOptions& options) {
  std::vector<std::string> symbols;
  // The first sentinel has the highest id, as in T5's vocabulary.
  for (std::int64_t i = count_sentinels(options) - 1; i >= 0; --i) symbols.push_back(sentinel(i));
  if (symbols.empty()) return {kMask};
  if (options.objective == DenoisingObjective::ul2)
    symbols.insert(symbols.end(), {kRegular, kSequential, kExtreme});
  return symbols;
}

Denoiser::Denoiser(const DenoisingOptions& options, const Tokenizer& tokenizer)
    : options_(options), eos_id_(tokenizer.eos_id()) {
  options.check();
  const auto id_of = [&](const std::string& symbol) {
    const std::int32_t id = tokenizer.find(symbol);
    if (id < 0) {
      throw ArgumentError(fmt::format("{} needs the symbol {}, which the tokenizer does not have",
                                      choice_name(options.objective), symbol));
    }
    return id;
  };
  if (eos_id_ < 0) throw ArgumentError("the tokenizer has no end-of-text id");
  sentinels_ = count_sentinels(options);
  if (sentinels_ == 0) {
    mask_id_ = id_of(kMask);
    return;
  }
  first_sentinel_ = id_of(sentinel(0));
  for (std::int64_t i = 1; i < sentinels_; ++i) {
    if (id_of(sentinel(i)) != first_sentinel_ - i) {
      throw ArgumentError(fmt::format(
          "the ids of the tokenizer's sentinels are not consecutive: {} does not have the id {}",
          sentinel(i), first_sentinel_ - i));
    }
  }
  if (options.objective == DenoisingObjective::ul2) {
    regular_id_ = id_of(kRegular);
    sequential_id_ = id_of(kSequential);
    extreme_id_ = id_of(kExtreme);
  }
}

DenoisingExample Denoiser::operator()(const std::vector<TokenIds>& sentences,
                                      std::uint64_t seed) const {
  switch (options_.objective) {
    case DenoisingObjective::span_corruption: {
      SpanCorruptionOptions spans = spans_of(options_);
      spans.first_sentinel = first_sentinel_;
      spans.sentinels = sentinels_;
      spans.eos_id = eos_id_;
      return span_corruption(joined(sentences), spans, seed);
    }
    case DenoisingObjective::ul2:
      return denoiser_mixture(joined(sentences),
                              {.regular_id = regular_id_,
                               .sequential_id = sequential_id_,
                               .extreme_id = extreme_id_,
                               .first_sentinel = first_sentinel_,
                               .sentinels = sentinels_,
                               .eos_id = eos_id_},
                              seed);
    case DenoisingObjective::denoising: return noisy(sentences, seed);
    case DenoisingObjective::gap_sentences: {
      const std::int64_t all = std::ssize(sentences);
      const auto wanted = std::llround(options_.gap_ratio * static_cast<double>(all));
      const std::int64_t hidden =
          std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(all - 1, 1));
      return gap_sentences(sentences, hidden, mask_id_, eos_id_);
    }
  }
  throw ArgumentError("unknown objective");
}

DenoisingExample Denoiser::noisy(const std::vector<TokenIds>& sentences, std::uint64_t seed) const {
  const DenoisingOptions& o = options_;
  DenoisingExample example{{}, joined(sentences)};
  example.input = o.permute_sentences ? permute_sentences(sentences, stable_hash("permute", seed))
                                      : example.target;
  TokenIds& ids = example.input;
  if (o.rotate) ids = rotate_document(ids, stable_hash("rotate", seed));
  if (o.infill_rate > 0)
    ids = infill_text(ids, mask_id_, o.infill_rate, o.mean_span, stable_hash("infill", seed));
  if (o.mask_rate > 0) ids = mask_tokens(ids, mask_id_, o.mask_rate, stable_hash("mask", seed));
  if (o.delete_rate > 0) ids = delete_tokens(ids, o.delete_rate, stable_hash("delete", seed));
  ids.push_back(eos_id_);
  example.target.push_back(eos_id_);
  return example;
}

}  // namespace weft
