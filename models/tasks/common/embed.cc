// Text embeddings for many texts, and nearest-neighbour search.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
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

void put(std::span<const float> vector, const TextEmbedder::Output& output, float* out) {
  double scale = 1;
  if (output.normalise) {
    const double length = length_of(vector.first(output.measured));
    scale = length > 0 ? 1 / length : 0;
  }
  for (const float x : vector.first(output.dimensions)) *out++ = static_cast<float>(x * scale);
}

/// Returns the name of the program that computes the vectors.
std::string_view vectors_program(const TextEncoder& encoder, const SentenceSettings* settings,
                                 const EmbedOptions& options) {
  if (!options.pooling)
    return settings != nullptr ? kVectorsProgram : choice_name(encoder.vectors.pooling);
  const std::string_view name = choice_name(*options.pooling);
  if (settings != nullptr && !settings->layers.empty()) {
    throw ArgumentError(fmt::format(
        "the pooling {} was requested, but the model applies modules ({}) to vectors with its own "
        "pooling: leave the pooling to the model",
        name, settings->layers.front().path));
  }
  if (!encoder.has_program(name)) {
    throw ArgumentError(
        fmt::format("the file was written by an earlier version and does not support the pooling "
                    "{}: convert the model's folder again (weft convert)",
                    name));
  }
  return name;
}

/// Returns a program for texts without padding that computes only the vectors `name`, or nullopt if
/// the encoder lacks it.
std::optional<Program> unpadded_program(const TextEncoder& encoder, std::string_view name) {
  const Program* all = encoder.find_program(kUnpaddedProgram);
  if (all == nullptr) return std::nullopt;
  for (const auto& [output, vectors] : all->outputs()) {
    if (output != name) continue;
    return Program(std::string(kUnpaddedProgram))
        .precision(all->precision())
        .output("vectors", vectors);
  }
  return std::nullopt;
}

TextEmbedder::Output vector_output(const SentenceSettings* settings, const EmbedOptions& options,
                                   std::int64_t width) {
  if (options.dimensions && (*options.dimensions < 1 || *options.dimensions > width)) {
    throw ArgumentError(fmt::format("{} dimensions were requested, but the vectors have {}",
                                    *options.dimensions, width));
  }
  const std::int64_t stored = settings != nullptr ? settings->dimensions : 0;
  const std::int64_t kept =
      options.dimensions.value_or(stored > 0 ? std::min(stored, width) : width);
  // As in Sentence Transformers, the model's own truncate_dim applies after its module Normalize.
  const bool of_kept = options.dimensions || options.normalise;
  return {static_cast<std::size_t>(kept),
          options.normalise.value_or(settings == nullptr || settings->normalise),
          static_cast<std::size_t>(of_kept ? kept : width)};
}

/// Returns `texts` with the prompt before each of them.
std::vector<std::string> with_prompt(const std::string& prompt,
                                     std::span<const std::string> texts) {
  std::vector<std::string> result;
  for (const std::string& text : texts) result.push_back(prompt + text);
  return result;
}

/// Returns the input "unpadded_pooled" for texts at these offsets i64 [texts + 1]: 0 for the first
/// `skipped` tokens of every text.
Tensor unpadded_pooled(const Tensor& offsets, std::size_t skipped) {
  const std::span<const std::int64_t> begins = offsets.span<std::int64_t>();
  std::vector<std::int32_t> pooled(static_cast<std::size_t>(begins.back()), 1);
  for (const std::int64_t begin : begins.first(begins.size() - 1))
    std::fill_n(pooled.begin() + begin, skipped, 0);
  return Tensor::of({1, std::ssize(pooled)}, pooled);
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

/// Returns the similarity of two vectors. `lengths` is the product of their lengths.
double compare(VectorSimilarity similarity, std::span<const float> a, std::span<const float> b,
               double lengths) {
  double sum = 0;
  switch (similarity) {
    case VectorSimilarity::cosine:
    case VectorSimilarity::dot: {
      const double product = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
      if (similarity == VectorSimilarity::dot) return product;
      return lengths > 0 ? product / lengths : 0;
    }
    case VectorSimilarity::euclidean:
      for (std::size_t i = 0; i < a.size(); ++i)
        sum += std::pow(static_cast<double>(a[i]) - b[i], 2);
      return -std::sqrt(sum);
    case VectorSimilarity::manhattan: break;
  }
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(static_cast<double>(a[i]) - b[i]);
  return -sum;
}

}  // namespace

std::size_t prompt_tokens(const TextReader& reader, const std::string& prompt) {
  if (prompt.empty()) return 0;
  const Encoding encoding = reader.encode({prompt});
  if (std::ssize(encoding.ids) >= reader.longest()) {
    throw DataError(
        fmt::format("the prompt {} fills all {} tokens that the model reads, so that none of them "
                    "belong to the text: shorten the prompt",
                    excerpt(prompt), reader.longest()));
  }
  const bool ends = !encoding.special.empty() && encoding.special.back() != 0;
  return encoding.ids.size() - (ends ? 1 : 0);
}

Tensor pooled_tokens(const Tensor& mask, std::size_t skipped) {
  Tensor pooled = mask.clone();
  const auto length = static_cast<std::size_t>(mask.size(1));
  for (std::int64_t row = 0; row < mask.size(0); ++row)
    std::fill_n(pooled.mutable_data<std::int32_t>() + row * mask.size(1), std::min(skipped, length),
                0);
  return pooled;
}

TextEmbedder::TextEmbedder(const TextEncoder& encoder, const EmbedOptions& options)
    : encoder_(encoder), options_(options) {
  if (options.batch_tokens < 1)
    throw ArgumentError(
        fmt::format("batch_tokens must be at least 1, not {}", options.batch_tokens));
  const std::optional<SentenceSettings> found = encoder.sentences();
  const SentenceSettings* settings = found ? &*found : nullptr;
  const std::string_view name = vectors_program(encoder, settings, options);
  const std::optional<Program> unpadded = unpadded_program(encoder, name);
  unpadded_ = unpadded.has_value();
  program_ = unpadded ? *unpadded : encoder.program(name);
  prompt_ = found.value_or(SentenceSettings()).prompt(options.prompt, options.prompt_name);
  skips_ = settings != nullptr && !settings->include_prompt;
  skipped_ = skips_ ? prompt_tokens(encoder.reader(), prompt_) : 0;
  output_ = vector_output(settings, options, program_.outputs().front().second.size(1).constant());
}

std::vector<TextRow> TextEmbedder::read(std::span<const std::string> texts) const {
  const TextReader reader = encoder_.reader();
  std::vector<TextRow> rows = prompt_.empty()
                                  ? reader.rows(texts, options_.on_cut)
                                  : reader.rows(with_prompt(prompt_, texts), options_.on_cut);
  for (std::size_t i = 0; i < rows.size() && skips_; ++i) {
    if (rows[i].ids.size() <= skipped_)
      throw TextError(i, "it has no tokens after its prompt, which is not pooled");
  }
  return rows;
}

Tensor TextEmbedder::vectors(Session& session, std::span<const TextRow* const> rows) const {
  const TextReader reader = encoder_.reader();
  std::vector<std::size_t> lengths;
  for (const TextRow* row : rows) lengths.push_back(row->ids.size());
  const auto kept = static_cast<std::int64_t>(output_.dimensions);
  Tensor result = Tensor::empty(DType::f32, {std::ssize(rows), kept});
  auto* out = result.mutable_data<float>();
  const std::vector<std::vector<std::size_t>> batches =
      unpadded_ ? batches_without_padding(lengths, options_.batch_tokens)
                : batches_by_tokens(lengths, options_.batch_tokens);
  run_distributed(
      session, program_, std::ssize(batches),
      [&](std::int64_t b) {
        std::vector<const TextRow*> places;
        for (const std::size_t i : batches[static_cast<std::size_t>(b)]) places.push_back(rows[i]);
        if (unpadded_) {
          NamedTensors inputs = reader.unpadded_inputs(places);
          if (skips_)
            inputs.emplace_back("unpadded_pooled", unpadded_pooled(inputs[1].second, skipped_));
          return inputs;
        }
        // Pad only to the longest row of the batch, because all its rows have similar lengths.
        NamedTensors inputs = reader.inputs(places, 1);
        if (skips_) inputs.emplace_back("pooled", pooled_tokens(inputs[1].second, skipped_));
        return inputs;
      },
      [&](std::int64_t b, const Results& results) {
        check_results(results);
        std::int64_t row = 0;
        for (const std::size_t i : batches[static_cast<std::size_t>(b)])
          put(row_of(results["vectors"], row++), output_,
              out + static_cast<std::ptrdiff_t>(i) * kept);
      });
  return result;
}

Embedded embed_counted(Session& session, const TextEncoder& encoder,
                       std::span<const std::string> texts, const EmbedOptions& options) {
  const TextEmbedder embedder(encoder, options);
  const std::vector<TextRow> rows = embedder.read(texts);
  std::vector<const TextRow*> places;
  std::int64_t tokens = 0;
  for (const TextRow& row : rows) {
    places.push_back(&row);
    tokens += std::ssize(row.ids);
  }
  return {embedder.vectors(session, places), tokens};
}

Tensor embed(Session& session, const TextEncoder& encoder, std::span<const std::string> texts,
             const EmbedOptions& options) {
  return embed_counted(session, encoder, texts, options).vectors;
}

std::vector<std::vector<Similar>> most_similar(const Tensor& vectors, const Tensor& others,
                                               std::int64_t most, VectorSimilarity similarity) {
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
          all.push_back({j, compare(similarity, vector, other,
                                    length * lengths[static_cast<std::size_t>(j)])});
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
