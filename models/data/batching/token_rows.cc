#include "weft/models/data/batching/token_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"

namespace weft {

std::vector<std::int32_t> with_ends(std::span<const std::int32_t> ids, std::int32_t cls_id,
                                    std::int32_t sep_id, std::int64_t context) {
  if (context < 2)
    throw ArgumentError(
        fmt::format("[CLS] and [SEP] need a context of at least 2 tokens, not {}", context));
  const std::size_t kept = std::min(ids.size(), static_cast<std::size_t>(context) - 2);
  std::vector<std::int32_t> row = {cls_id};
  row.insert(row.end(), ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(kept));
  row.push_back(sep_id);
  return row;
}

TokenRows pad_rows(std::span<const std::vector<std::int32_t>> rows, std::int32_t pad_id,
                   std::int64_t multiple, std::int64_t most) {
  std::int64_t longest = 0;
  for (const auto& row : rows) longest = std::max(longest, static_cast<std::int64_t>(row.size()));
  if (longest == 0) throw ArgumentError("a batch needs at least one row that is not empty");
  const std::int64_t rounded = (longest + multiple - 1) / multiple * multiple;
  const std::int64_t length = std::max(longest, std::min(rounded, most));
  const auto count = static_cast<std::int64_t>(rows.size());
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count * length), pad_id);
  std::vector<std::int32_t> mask(ids.size(), 0);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::size_t at = r * static_cast<std::size_t>(length);
    std::copy(rows[r].begin(), rows[r].end(), ids.begin() + static_cast<std::ptrdiff_t>(at));
    std::fill_n(mask.begin() + static_cast<std::ptrdiff_t>(at), rows[r].size(), 1);
  }
  return {Tensor::of({count, length}, ids), Tensor::of({count, length}, mask)};
}

}  // namespace weft
