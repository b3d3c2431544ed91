#include "weft/models/data/batching/by_length.h"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

/// Batches with fewer tokens do not fully utilise the machine. For them, padding costs less than an
/// additional batch.
constexpr std::int64_t kSmallBatch = 256;
/// A row may be shorter than the longest row of its batch by at most 1 / kPaddingShare of that
/// length.
constexpr std::int64_t kPaddingShare = 16;

}  // namespace

std::vector<std::size_t> by_length(std::span<const std::size_t> lengths) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lengths[a] < lengths[b]; });
  return order;
}

std::vector<std::vector<std::size_t>> batches_by_length(std::span<const std::size_t> lengths) {
  constexpr std::size_t kBatch = 64;
  const std::vector<std::size_t> order = by_length(lengths);
  std::vector<std::vector<std::size_t>> batches;
  for (std::size_t begin = 0; begin < order.size(); begin += kBatch) {
    const auto batch = std::span(order).subspan(begin, std::min(kBatch, order.size() - begin));
    batches.emplace_back(batch.begin(), batch.end());
  }
  return batches;
}

std::vector<std::vector<std::size_t>> batches_by_tokens(std::span<const std::size_t> lengths,
                                                        std::int64_t max_tokens) {
  std::vector<std::vector<std::size_t>> batches;
  std::vector<std::size_t> order = by_length(lengths);
  std::reverse(order.begin(), order.end());  // the batch that needs the most memory comes first
  for (std::size_t begin = 0; begin < order.size();) {
    const auto longest = static_cast<std::int64_t>(lengths[order[begin]]);
    std::size_t end = begin + 1;
    for (; end < order.size(); ++end) {
      const auto length = static_cast<std::int64_t>(lengths[order[end]]);
      const auto tokens = static_cast<std::int64_t>(end - begin + 1) * longest;
      if (tokens > max_tokens) break;
      if (longest - length > longest / kPaddingShare && tokens > kSmallBatch) break;
    }
    batches.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(begin),
                         order.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
  return batches;
}

std::vector<std::vector<std::size_t>> batches_without_padding(std::span<const std::size_t> lengths,
                                                              std::int64_t max_tokens) {
  std::vector<std::vector<std::size_t>> batches;
  std::vector<std::size_t> order = by_length(lengths);
  std::reverse(order.begin(), order.end());
  std::int64_t tokens = 0;
  for (const std::size_t i : order) {
    const auto length = static_cast<std::int64_t>(lengths[i]);
    if (batches.empty() || tokens > max_tokens - length) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(i);
    tokens += length;
  }
  return batches;
}

}  // namespace weft
