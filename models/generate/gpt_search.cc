#include "weft/models/generate/gpt_search.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"

namespace weft {
namespace {

/// The model between two steps of a search: what the caches hold and which of it is padding.
class Rows {
 public:
  Rows(const Tensor& mask, std::int64_t rows, std::int64_t beams, std::int64_t capacity)
      : visible_(Tensor::full(DType::boolean, {rows, capacity}, 1)),
        next_position_(static_cast<std::size_t>(rows), 0) {
    if (!mask.defined()) return;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < mask.size(1); ++i) {
        visible_.mutable_data<bool>()[row * capacity + i] =
            mask.data<std::int64_t>()[row / beams * mask.size(1) + i] != 0;
      }
    }
  }

  std::int64_t filled() const { return filled_; }
  const Tensor& visible() const { return visible_; }

  /// Positions of `count` new tokens per row: they count what is no padding; padding stands at 1,
  /// which nobody sees.
  Tensor positions(std::int64_t count) {
    const std::int64_t rows = visible_.size(0), capacity = visible_.size(1);
    Tensor result = Tensor::empty(DType::i64, {rows, count});
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < count; ++i) {
        const bool real = visible_.data<bool>()[row * capacity + filled_ + i];
        result.mutable_data<std::int64_t>()[row * count + i] =
            real ? next_position_[static_cast<std::size_t>(row)]++ : 1;
      }
    }
    filled_ += count;
    return result;
  }

 private:
  Tensor visible_;
  std::vector<std::int64_t> next_position_;
  std::int64_t filled_ = 0;
};

}  // namespace

GptSearch::GptSearch(Graph& graph, const Gpt& gpt) : config_(gpt.config()) {
  const Dim capacity = graph.dim("search_capacity");
  const Value tokens = graph.input("search.tokens", DType::i64, {"search_rows", "search_new"});
  const Value positions =
      graph.input("search.positions", DType::i64, {"search_rows", "search_new"});
  const Value mask = graph.input("search.mask", DType::boolean, {"search_rows", capacity});
  const Value filled = graph.input("search.filled", DType::i64, {});
  const GptDecoding decoding = gpt.decode(
      {.tokens = tokens, .position = filled, .position_ids = positions, .mask = mask}, capacity);
  decode_.output("logits", decoding.logits).update(decoding.updates);
  const Value sources = graph.input("search.sources", DType::i64, {"search_rows"});
  for (const auto& [cache, value] : decoding.updates)
    reorder_.update(cache, take(cache, sources, 0));
}

SearchResult GptSearch::run(Session& session, const Tensor& prompts, const Tensor& mask,
                            const SearchOptions& options) const {
  options.check();
  if (prompts.dtype() != DType::i64 || prompts.rank() != 2 || prompts.numel() == 0 ||
      (mask.defined() && (mask.dtype() != DType::i64 || mask.sizes() != prompts.sizes()))) {
    throw ShapeError(
        fmt::format("prompts must be i64 [prompts, length] and not empty, and so the mask, not {}",
                    prompts.type_str()));
  }
  if (config_.positions == GptPositions::learned && options.max_length > config_.context) {
    throw ArgumentError(fmt::format("max_length {} is beyond the {} positions of the model",
                                    options.max_length, config_.context));
  }
  if (prompts.size(1) >= options.max_length) {
    throw ArgumentError(
        fmt::format("the prompt has {} tokens, max_length is {}: nothing is left "
                    "to generate",
                    prompts.size(1), options.max_length));
  }
  session.reset_caches();
  const std::int64_t rows = prompts.size(0) * options.beams;
  const RunOptions sizes{.dims = {{"search_capacity", options.max_length}}};
  Rows state(mask, rows, options.beams, options.max_length);
  const auto step = [&](const Tensor& tokens, std::int64_t position, const Tensor& parents) {
    bool moved = false;
    for (std::int64_t i = 0; i < parents.numel(); ++i)
      moved = moved || parents.data<std::int64_t>()[i] != i;
    // Beams share their prompt's padding, so that only the caches move.
    if (moved && position > 0) session.run(reorder_, {{"search.sources", parents}}, sizes);
    return session.run(decode_,
                       {{"search.tokens", tokens},
                        {"search.positions", state.positions(tokens.size(1))},
                        {"search.mask", state.visible()},
                        {"search.filled", Tensor::of<std::int64_t>({}, {position})}},
                       sizes)["logits"];
  };
  return search(step, prompts, options);
}

}  // namespace weft
