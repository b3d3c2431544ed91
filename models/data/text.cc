#include "weft/models/data/text.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/models/tokenizers/utf8.h"
#include "weft/serialization/read_file.h"

namespace weft {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// UTF-16 and UTF-32, which editors of some systems write, begin with U+FEFF in one of two orders.
bool is_wide_text(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
         text.starts_with(std::string_view("\0\0\xFE\xFF", 4));
}

}  // namespace

std::string read_text_file(const std::string& path) { return read_whole_file(path); }

std::string read_utf8_file(const std::string& path) {
  std::string text = read_whole_file(path);
  if (is_wide_text(text))
    throw FormatError(fmt::format("{}: the text is UTF-16 or UTF-32; convert it to UTF-8", path));
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  std::size_t at = 0;
  try {
    while (at < text.size()) {
      // Most of a text is ASCII.
      if (static_cast<unsigned char>(text[at]) < 0x80) {
        ++at;
      } else {
        next_code_point(text, at);
      }
    }
  } catch (const FormatError& e) {
    const auto line =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
    throw FormatError(fmt::format("{}, line {}: {}", path, line, e.what()));
  }
  return text;
}

std::int64_t training_part(std::int64_t size, double validation_fraction) {
  if (!(validation_fraction >= 0 && validation_fraction < 1)) {
    throw ArgumentError(
        fmt::format("validation_fraction must be in [0, 1), not {}", validation_fraction));
  }
  return static_cast<std::int64_t>(static_cast<double>(size) * (1 - validation_fraction));
}

TextData::TextData(std::vector<std::int32_t> ids, double validation_fraction)
    : ids_(std::move(ids)), split_(training_part(std::ssize(ids_), validation_fraction)) {}

TextData::TextData(std::vector<std::int32_t> train, std::span<const std::int32_t> validation)
    : ids_(std::move(train)), split_(std::ssize(ids_)) {
  ids_.insert(ids_.end(), validation.begin(), validation.end());
}

TokenBatch TextData::windows(const std::vector<std::int64_t>& starts, std::int64_t length) const {
  const auto batch = static_cast<std::int64_t>(starts.size());
  TokenBatch out{Tensor::empty(DType::i32, {batch, length}),
                 Tensor::empty(DType::i32, {batch, length})};
  auto* inputs = out.inputs.mutable_data<std::int32_t>();
  auto* targets = out.targets.mutable_data<std::int32_t>();
  for (const std::int64_t start : starts) {
    const std::int32_t* source = ids_.data() + start;
    inputs = std::copy_n(source, length, inputs);
    targets = std::copy_n(source + 1, length, targets);
  }
  return out;
}

TokenBatch TextData::random_windows(std::int64_t batch, std::int64_t length, std::uint64_t seed,
                                    const BatchPart& part) const {
  if (train_size() < length + 1) {
    throw ArgumentError(fmt::format(
        "the training part has {} tokens, but a window of {} needs {}: give more text or a smaller "
        "context",
        train_size(), length, length + 1));
  }
  const RandomStream stream{stable_hash("weft.data", seed), 0,
                            static_cast<std::uint32_t>(part.step())};
  const auto places = static_cast<std::uint64_t>(train_size() - length);
  std::vector<std::int64_t> starts;
  const RowRange rows = part.rows(batch);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    const PhiloxBlock block = stream.block(static_cast<std::uint64_t>(row));
    const std::uint64_t bits = std::uint64_t{block[0]} << 32 | block[1];
    starts.push_back(static_cast<std::int64_t>(uniform_below(bits, places)));
  }
  return windows(starts, length);
}

std::vector<TokenBatch> TextData::validation_windows(std::int64_t batch,
                                                     std::int64_t length) const {
  const std::int64_t predictions = validation_size() - 1;
  if (predictions < 1) {
    throw ArgumentError(
        fmt::format("the validation part has {} tokens: at least 2 are needed to predict one",
                    validation_size()));
  }
  const std::int64_t full = predictions / length;
  std::vector<TokenBatch> batches;
  for (std::int64_t first = 0; first < full; first += batch) {
    std::vector<std::int64_t> starts;
    for (std::int64_t w = first; w < std::min(first + batch, full); ++w)
      starts.push_back(split_ + w * length);
    batches.push_back(windows(starts, length));
  }
  if (const std::int64_t rest = predictions % length; rest != 0)
    batches.push_back(windows({split_ + full * length}, rest));
  return batches;
}

}  // namespace weft
