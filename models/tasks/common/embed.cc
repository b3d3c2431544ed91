// Text embeddings for many texts, and nearest-neighbour search.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/core/error.h"
#include "weft/core/parallel.h"
#include "weft/models/data/batching/by_length.h"
#include "weft/models/tasks/common/run_checked.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/training/run_distributed.h"

namespace weft {
namespace {

double length_of(std::span<const float> vector) {
  double sum = 0;
  for (const float x : vector) sum += static_cast<double>(x) * x;
  return std::sqrt(sum);
}

void put(std::span<const float> vector, bool normalise, float* out) {
  double scale = 1;
  if (normalise) {
    const double length = length_of(vector);
    scale = length > 0 ? 1 / length : 0;
  }
  for (const float x : vector) *out++ = static_cast<float>(x * scale);
}

/// Throws ShapeError unless `vectors` is f32 [rows, width].
void require_vectors(const Tensor& vectors) {
  if (vectors.rank() != 2 || vectors.dtype() != DType::f32)
    throw ShapeError(fmt::format("vectors must be f32[rows, width], not {}", vectors.type_str()));
}

std::span<const float> row_of(const Tensor& vectors, std::int64_t row) {
  const auto width = static_cast<std::size_t>(vectors.size(1));
  return vectors.span<float>().subspan(static_cast<std::size_t>(row) * width, width);
}

}  // namespace

Embedded embed_counted(Session& session, const TextEncoder& encoder,
                       std::span<const std::string> texts, const EmbedOptions& options) {
  if (options.batch_tokens < 1)
    throw ArgumentError(
        fmt::format("batch_tokens must be at least 1, not {}", options.batch_tokens));
  const TextReader reader = encoder.reader();
  const Program& program =
      encoder.program(choice_name(options.pooling.value_or(encoder.vectors.pooling)));
  const std::vector<TextRow> rows = reader.rows(texts, options.on_cut);
  std::vector<std::size_t> lengths;
  for (const TextRow& row : rows) lengths.push_back(row.ids.size());
  const std::int64_t width = encoder.config.width;
  Embedded result{
      Tensor::empty(DType::f32, {std::ssize(texts), width}),
      static_cast<std::int64_t>(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}))};
  auto* out = result.vectors.mutable_data<float>();
  const std::vector<std::vector<std::size_t>> batches =
      batches_by_tokens(lengths, options.batch_tokens);
  run_distributed(
      session, program, std::ssize(batches),
      [&](std::int64_t b) {
        std::vector<const TextRow*> places;
        for (const std::size_t i : batches[static_cast<std::size_t>(b)]) places.push_back(&rows[i]);
        // Pad only to the longest row of the batch, because all its rows have similar lengths.
        return reader.inputs(places, 1);
      },
      [&](std::int64_t b, const Results& results) {
        check_results(results);
        std::int64_t row = 0;
        for (const std::size_t i : batches[static_cast<std::size_t>(b)]) {
          put(row_of(results["vectors"], row++), options.normalise,
              out + static_cast<std::ptrdiff_t>(i) * width);
        }
      });
  return result;
}

Tensor embed(Session& session, const TextEncoder& encoder, std::span<const std::string> texts,
             const EmbedOptions& options) {
  return embed_counted(session, encoder, texts, options).vectors;
}

std::vector<std::vector<Similar>> most_similar(const Tensor& vectors, const Tensor& others,
                                               std::int64_t most) {
  require_vectors(vectors);
  require_vectors(others);
  if (vectors.size(1) != others.size(1)) {
    throw ShapeError(fmt::format("cannot compare vectors {} with {}: both must have the same width",
                                 vectors.type_str(), others.type_str()));
  }
  std::vector<double> lengths;
  for (std::int64_t j = 0; j < others.size(0); ++j) lengths.push_back(length_of(row_of(others, j)));
  std::vector<std::vector<Similar>> result(static_cast<std::size_t>(vectors.size(0)));
  const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(most, 0, others.size(0)));
  const double cost = static_cast<double>(others.numel());  // about one nanosecond per element
  Workers().for_chunks(
      vectors.size(0),
      [&](std::int64_t i, int) {
        const std::span<const float> vector = row_of(vectors, i);
        const double length = length_of(vector);
        std::vector<Similar> all;
        for (std::int64_t j = 0; j < others.size(0); ++j) {
          const std::span<const float> other = row_of(others, j);
          const double product =
              std::inner_product(vector.begin(), vector.end(), other.begin(), 0.0);
          const double both = length * lengths[static_cast<std::size_t>(j)];
          all.push_back({j, both > 0 ? product / both : 0});
        }
        std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                          [](const Similar& a, const Similar& b) {
                            return a.cosine != b.cosine ? a.cosine > b.cosine : a.row < b.row;
                          });
        all.resize(count);
        result[static_cast<std::size_t>(i)] = std::move(all);
      },
      cost * static_cast<double>(vectors.size(0)));
  return result;
}

}  // namespace weft
