#include "weft/models/generate/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/generate/cache_rows.h"
#include "weft/models/generate/logits_rules.h"
#include "weft/models/generate/window_caches.h"

namespace weft {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

/// Returns true if the rotation of all keys depends on the length of the text.
bool rotates_by_length(const GptConfig& config) {
  return config.rotary_scaling == RotaryScalingKind::dynamic ||
         config.rotary_scaling == RotaryScalingKind::longrope;
}

/// Returns columns [begin, begin + count) of ids.
Tensor columns_of(const Tensor& ids, std::int64_t begin, std::int64_t count) {
  std::vector<TokenIds> rows = ids_rows(ids);
  for (TokenIds& row : rows) row = TokenIds(row.begin() + begin, row.begin() + begin + count);
  return ids_tensor(rows);
}

}  // namespace

std::int64_t trained_context(const GptConfig& config) {
  const bool any_length =
      config.positions == GptPositions::linear_bias || config.positions == GptPositions::none;
  return any_length ? kUnlimited : config.context;
}

/// Rows of text, and the part of them that the caches contain.
struct Generator::Batch {
  std::vector<TokenIds> texts;  // without padding
  std::int64_t limit;           // maximum number of ids per text in the caches
  bool reusable;                // the caches may be reused for the next prompt
  WindowCaches caches;
  std::int64_t capacity = 0;
  std::int64_t filled = 0;                 // filled columns of the caches, the same for every row
  std::int64_t written = 0;                // columns that were ever filled, also by longer texts
  std::vector<std::int64_t> padding = {};  // padding columns at the front of each row
  Tensor visible = {};                     // bool [rows, capacity]

  std::int64_t rows() const { return static_cast<std::int64_t>(texts.size()); }
};

Generator::Generator(Session& session, const Program& decode, const GptConfig& config)
    : session_(session), decode_(decode), config_(config) {
  const Graph& graph = session.graph();
  const Value tokens = graph.find_input("tokens"), visible = graph.find_input("visible");
  if (!tokens.defined())
    throw ArgumentError("the graph has no input 'tokens': use a program of Gpt::decode_program");
  id_type_ = tokens.dtype();
  for (const Value input : decode.inputs())
    supports_padding_ = supports_padding_ || (visible.defined() && input == visible);
}

Generator::~Generator() = default;

Tensor Generator::decode(const Tensor& tokens) {
  Tensor logits;
  for (std::int64_t done = 0, added = tokens.size(1); done < added;) {
    const std::int64_t count = batch_->caches.next_piece(batch_->filled, added - done);
    logits = run(count == added ? tokens : columns_of(tokens, done, count));
    done += count;
  }
  return logits;
}

Tensor Generator::run(const Tensor& tokens) {
  Batch& batch = *batch_;
  const std::int64_t rows = tokens.size(0), added = tokens.size(1);
  NamedTensors feeds = {{"tokens", tokens.to(id_type_)},
                        {"position", Tensor::of<std::int64_t>({}, {batch.filled})}};
  if (supports_padding_) {
    Tensor positions = Tensor::empty(DType::i64, {rows, added});
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < added; ++i) {
        // Padding and finished rows may have any position, because their results are never used.
        std::int64_t at = batch.filled + i - batch.padding[static_cast<std::size_t>(r)];
        if (config_.positions == GptPositions::learned) at = std::min(at, config_.context - 1);
        positions.mutable_data<std::int64_t>()[r * added + i] = std::max<std::int64_t>(at, 0);
      }
    }
    // Transformed programs, such as those of quantize(), lack the input if the model has no
    // positions.
    if (session_.graph().find_input("positions").defined())
      feeds.emplace_back("positions", positions);
    feeds.emplace_back("visible", batch.visible);
  }
  Tensor logits = session_.run(decode_, feeds, {.dims = batch.caches.sizes()})["logits"];
  batch.written = std::max(batch.filled == 0 ? 0 : batch.written, batch.filled + added);
  batch.filled += added;
  return logits;
}

Tensor Generator::step(const Tensor& tokens, std::int64_t position, const Tensor& parents) {
  Batch& batch = *batch_;
  if (position > 0) {
    // All rows of a prompt have the same padding, so only texts and caches are reordered.
    if (reorders_rows(parents)) {
      if (!reorder_) reorder_ = make_reorder_program(decode_);
      session_.run(*reorder_, {{"cache_rows", parents}}, {.dims = batch.caches.sizes()});
      const std::vector<TokenIds> before = batch.texts;
      for (std::size_t r = 0; r < before.size(); ++r)
        batch.texts[r] = before[static_cast<std::size_t>(parents.data<std::int64_t>()[r])];
    }
    const std::int64_t* added = tokens.data<std::int64_t>();
    for (TokenIds& text : batch.texts) {
      text.insert(text.end(), added, added + tokens.size(1));
      added += tokens.size(1);
    }
    const std::int64_t columns = batch.filled + tokens.size(1);
    const bool outdated =
        std::any_of(batch.padding.begin(), batch.padding.end(), [&](std::int64_t padding) {
          return changes_rotation(config_, batch.filled - padding, columns - padding);
        });
    if (columns <= batch.capacity && !outdated) return decode(tokens);
    // The caches are full or outdated, so the texts are recomputed. If a text exceeds the limit,
    // only the later half of the window is kept.
    batch.filled = 0;
    for (TokenIds& text : batch.texts) {
      if (std::ssize(text) > batch.limit)
        text.erase(text.begin(), text.end() - std::max<std::int64_t>(1, batch.limit / 2));
    }
  }
  // The longest text starts in the first column.
  std::size_t longest = 0;
  for (const TokenIds& text : batch.texts) longest = std::max(longest, text.size());
  std::vector<TokenIds> columns;
  batch.visible = Tensor::full(DType::boolean, {batch.rows(), batch.capacity}, 1);
  for (std::size_t r = 0; r < batch.texts.size(); ++r) {
    const std::size_t padding = longest - batch.texts[r].size();
    if (padding > 0 && !supports_padding_)
      throw ArgumentError(
          "this model file is too old to batch prompts with different lengths: generate from one "
          "prompt at a time");
    batch.padding[r] = static_cast<std::int64_t>(padding);
    columns.emplace_back(padding, 0);
    columns.back().insert(columns.back().end(), batch.texts[r].begin() + batch.filled,
                          batch.texts[r].end());
    std::fill_n(batch.visible.mutable_data<bool>() + static_cast<std::int64_t>(r) * batch.capacity,
                padding, false);
  }
  return decode(ids_tensor(columns));
}

std::int64_t Generator::common_prefix_length(const TokenIds& text, const TokenIds& cached) const {
  if (rotates_by_length(config_) &&
      std::max(std::ssize(text), std::ssize(cached)) > config_.rotary_context)
    return 0;
  const auto differs = std::mismatch(text.begin(), text.end(), cached.begin(), cached.end()).first;
  // The last id is always computed, because its logits are needed.
  return std::min<std::int64_t>(differs - text.begin(), std::ssize(text) - 1);
}

Generation Generator::start(const SearchStarts& starts, std::vector<TokenIds> texts,
                            const GenerationOptions& options) {
  options.check();
  if (!options.start.empty())
    throw ArgumentError("start is for encoder-decoders: a decoder begins with its prompt");
  const std::int64_t each = rows_per_prompt(options);
  if (options.reuse_caches && each * std::ssize(texts) != 1) {
    throw ArgumentError(
        "cached keys and values can be reused for a single row only: there must be one prompt, and "
        "beams and results must be 1");
  }
  const bool learned = config_.positions == GptPositions::learned;
  auto batch = std::make_unique<Batch>(Batch{{},
                                             options.slide ? trained_context(config_) : kUnlimited,
                                             options.reuse_caches,
                                             WindowCaches(session_.graph(), config_)});
  for (std::size_t p = 0; p < texts.size(); ++p) {
    const auto columns = static_cast<std::int64_t>(starts.ids[p].size());
    const std::int64_t padding = starts.padding.empty() ? 0 : starts.padding[p];
    const std::int64_t most = length_rules(options, columns - padding).max;
    if (learned && !options.slide && most > config_.context) {
      throw ArgumentError(fmt::format(
          "a sequence of {} ids exceeds the model's {} positions (set `slide`, or generate less)",
          most, config_.context));
    }
    batch->capacity = std::max(batch->capacity, most + padding);
    TokenIds& text = texts[p];
    if (std::ssize(text) > batch->limit) text.erase(text.begin(), text.end() - batch->limit);
    batch->texts.insert(batch->texts.end(), static_cast<std::size_t>(each), text);
  }
  batch->capacity = std::min(batch->capacity, batch->limit);
  batch->padding.resize(batch->texts.size());
  Generation generation(*this, starts, options);
  TokenIds cached;
  std::int64_t capacity = 0, written = 0;
  if (batch_ && batch_->reusable) {
    capacity = batch_->capacity;
    written = batch_->written;
    cached = std::move(batch_->texts.front());
    cached.resize(static_cast<std::size_t>(std::min(batch_->filled, std::ssize(cached))));
  }
  // A program that rotates by the length of the text processes each prompt as a whole.
  const auto resize = [&] {
    batch->caches.resize(batch->capacity, rotates_by_length(config_) ? batch->capacity : kPiece);
  };
  if (options.reuse_caches && batch->capacity <= capacity) {
    batch->capacity = capacity;
    resize();
    const std::int64_t same = common_prefix_length(batch->texts.front(), cached);
    if (batch->caches.keeps(same, written)) {
      batch->filled = same;
      batch->written = written;
    }
  } else {
    // Double the capacity when a text outgrows its caches, so that reallocation is rare.
    constexpr std::int64_t kLeast = 256;
    if (options.reuse_caches)
      batch->capacity = std::min(std::max({batch->capacity, 2 * capacity, kLeast}),
                                 learned ? std::min(batch->limit, config_.context) : batch->limit);
    resize();
    session_.reset_caches();
  }
  reused_ = batch->filled;
  batch_ = std::move(batch);
  return generation;
}

Generation Generator::generate(const std::vector<TokenIds>& prompts,
                               const GenerationOptions& options) {
  if (prompts.empty()) throw ArgumentError("there is no prompt");
  std::size_t longest = 0;
  for (const TokenIds& prompt : prompts) {
    if (prompt.empty()) throw ArgumentError("the prompt is empty: at least one token is needed");
    longest = std::max(longest, prompt.size());
  }
  SearchStarts starts;
  for (const TokenIds& prompt : prompts) {
    starts.padding.push_back(static_cast<std::int64_t>(longest - prompt.size()));
    starts.ids.emplace_back(longest - prompt.size(), options.pad_id);
    starts.ids.back().insert(starts.ids.back().end(), prompt.begin(), prompt.end());
  }
  return start(starts, prompts, options);
}

std::vector<ContinuationScore> Generator::score(const std::vector<TokenIds>& prompts,
                                                const std::vector<TokenIds>& continuations) {
  check_scored_rows(config_, prompts, continuations);
  std::vector<ContinuationScore> scores(prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const TokenIds& ids = continuations[i];
    // The last id needs no position, so the text never slides out of learned positions.
    generate({prompts[i]},
             {.max_new = std::ssize(ids), .slide = config_.positions == GptPositions::learned});
    Tensor logits = step({}, 0, {});
    for (std::size_t j = 0; j < ids.size(); ++j) {
      if (ids[j] < 0 || ids[j] >= logits.numel())
        throw DataError(fmt::format("id {} of continuation {} is outside the vocabulary (size {})",
                                    ids[j], i, logits.numel()));
      double sum = 0, most = logits.at(0);
      for (std::int64_t k = 1; k < logits.numel(); ++k) most = std::max(most, logits.at(k));
      for (std::int64_t k = 0; k < logits.numel(); ++k) sum += std::exp(logits.at(k) - most);
      scores[i].log_probabilities.push_back(logits.at(ids[j]) - most - std::log(sum));
      if (j + 1 < ids.size()) {
        logits = step(ids_tensor({{ids[j]}}), std::ssize(prompts[i]) + static_cast<std::int64_t>(j),
                      Tensor::of<std::int64_t>({1}, {0}));
      }
    }
  }
  return scores;
}

Generation Generator::generate(const Tensor& prompts, const Tensor& mask,
                               const GenerationOptions& options) {
  if (prompts.dtype() != DType::i64 || prompts.rank() != 2 || prompts.numel() == 0 ||
      (mask.defined() && (mask.dtype() != DType::i64 || mask.sizes() != prompts.sizes()))) {
    throw ShapeError(fmt::format(
        "prompts and mask must be non-empty i64 [prompts, length] tensors, but the prompts are {}",
        prompts.type_str()));
  }
  const SearchStarts starts{ids_rows(prompts)};
  std::vector<TokenIds> texts = starts.ids;
  for (std::size_t p = 0; mask.defined() && p < texts.size(); ++p) {
    TokenIds tokens;
    for (std::size_t i = 0; i < texts[p].size(); ++i) {
      if (mask.data<std::int64_t>()[p * texts[p].size() + i] != 0) tokens.push_back(texts[p][i]);
    }
    if (tokens.empty()) throw ArgumentError(fmt::format("prompt {} contains only padding", p));
    texts[p] = std::move(tokens);
  }
  return start(starts, std::move(texts), options);
}

}  // namespace weft
