#include "weft/models/tasks/common/truncate_ids.h"

#include <algorithm>

namespace weft {

TokenIds truncate_ids(const TokenIds& ids, std::int64_t kept, const Tokenizer* tokenizer,
                      TextEnd cut) {
  const auto is_special = [&](std::int64_t id) {
    return tokenizer != nullptr && id < tokenizer->vocab_size() &&
           tokenizer->is_special(static_cast<std::int32_t>(id));
  };
  const auto first = std::find_if_not(ids.begin(), ids.end(), is_special);
  const auto last = std::find_if_not(ids.rbegin(), ids.rend(), is_special).base();
  const std::int64_t around = (first - ids.begin()) + (ids.end() - last);
  if (first >= last || around >= kept) return {ids.begin(), ids.begin() + kept};
  TokenIds result(ids.begin(), first);
  const std::int64_t text = kept - around;
  const auto begin = cut == TextEnd::left ? last - text : first;
  result.insert(result.end(), begin, begin + text);
  result.insert(result.end(), last, ids.end());
  return result;
}

}  // namespace weft
