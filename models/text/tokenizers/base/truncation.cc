#include "weft/models/text/tokenizers/base/truncation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr std::size_t kMaxWindowIds = std::size_t{1} << 27;

/// Returns the number of ids that each text keeps if the longer text is truncated first.
std::pair<std::size_t, std::size_t> longest_first(std::size_t first, std::size_t second,
                                                  std::size_t most) {
  const bool swapped = first > second;
  if (swapped) std::swap(first, second);
  second = first > most ? first : std::max(first, most - first);
  if (first + second > most) {
    first = most / 2;
    second = first + most % 2;
  }
  if (swapped) std::swap(first, second);
  return {first, second};
}

}  // namespace

void truncate(Encoding& encoding, std::size_t most, std::size_t stride, TextEnd direction) {
  const std::size_t size = encoding.size();
  if (most >= size) return;
  Encoding whole = std::exchange(encoding, Encoding());
  if (most == 0) {
    encoding.overflowing.push_back(std::move(whole));
    return;
  }
  if (stride >= most) {
    throw ArgumentError(fmt::format(
        "cannot truncate to {} ids with a stride of {}: the stride must be smaller", most, stride));
  }
  const std::size_t step = most - stride, windows = (size - most + step - 1) / step + 1;
  // The windows overlap, so a large stride multiplies the size of the text.
  if (windows > kMaxWindowIds / most) {
    throw ArgumentError(fmt::format(
        "truncating {} ids to {} with a stride of {} gives {} windows with more than {} "
        "ids in total; use a smaller stride",
        size, most, stride, windows, kMaxWindowIds));
  }
  bool first = true;
  const auto give = [&](std::size_t begin, std::size_t end) {
    Encoding window = whole.part(begin, end);
    if (std::exchange(first, false)) {
      encoding = std::move(window);
    } else {
      encoding.overflowing.push_back(std::move(window));
    }
  };
  if (direction == TextEnd::right) {
    for (std::size_t begin = 0, end = 0; end < size; begin += step) {
      end = std::min(begin + most, size);
      give(begin, end);
    }
  } else {
    for (std::size_t end = size, begin = size; begin > 0; end -= step) {
      begin = end > most ? end - most : 0;
      give(begin, end);
    }
  }
}

void truncate(Encoding& first, std::optional<Encoding>& second, const Truncation& truncation,
              std::size_t added) {
  if (truncation.max_length < added) {
    throw ArgumentError(
        fmt::format("cannot truncate to {} ids because {} special tokens are added around the text",
                    truncation.max_length, added));
  }
  const std::size_t most = truncation.max_length - added;
  const std::size_t stride = truncation.stride;
  if (most == 0) {
    truncate(first, 0, stride, truncation.direction);
    if (second) truncate(*second, 0, stride, truncation.direction);
    return;
  }
  const std::size_t total = first.size() + (second ? second->size() : 0);
  if (total <= most) return;
  if (truncation.strategy == TruncationStrategy::longest_first) {
    if (!second) return truncate(first, most, stride, truncation.direction);
    const auto [left, right] = longest_first(first.size(), second->size(), most);
    truncate(first, left, stride, truncation.direction);
    truncate(*second, right, stride, truncation.direction);
    return;
  }
  const bool cuts_first = truncation.strategy == TruncationStrategy::only_first;
  if (!cuts_first && !second) {
    throw ArgumentError(
        "cannot truncate only the second text because there is only one text; use OnlyFirst or "
        "LongestFirst");
  }
  Encoding& cut = cuts_first ? first : *second;
  const std::size_t removed = total - most;
  if (cut.size() <= removed) {
    throw ArgumentError(fmt::format(
        "truncation to {} ids would leave nothing of the {} text, which has {} of {} ids",
        truncation.max_length, cuts_first ? "first" : "second", cut.size(), total));
  }
  truncate(cut, cut.size() - removed, stride, truncation.direction);
}

}  // namespace weft
