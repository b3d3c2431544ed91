#include "weft/models/text/tokenizers/subwords/joints.h"

#include <algorithm>
#include <bit>

#include "weft/models/text/tokenizers/subwords/hash.h"

namespace weft::subwords {
namespace {

constexpr std::uint64_t kFree = 0xFFFFFFFFFFFFFFFFU;  // not a pair of characters
constexpr std::uint64_t kJointMixer = 0xD6E8FEB86659FD93U;

}  // namespace

Joints::Joints(std::vector<std::uint64_t> joined) {
  std::sort(joined.begin(), joined.end());
  joined.erase(std::unique(joined.begin(), joined.end()), joined.end());
  slots_.assign(std::bit_ceil(2 * joined.size() + 1), kFree);
  for (const std::uint64_t pair : joined) {
    const auto left = static_cast<char32_t>(pair >> 32), right = static_cast<char32_t>(pair);
    if ((left | right) < kSmall) {
      small_.set(left * kSmall + right);
      continue;
    }
    std::size_t slot = mix(pair, kJointMixer) & (slots_.size() - 1);
    while (slots_[slot] != kFree) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = pair;
  }
}

bool Joints::has_large(char32_t left, char32_t right) const {
  const std::uint64_t wanted = pair(left, right);
  for (std::size_t slot = mix(wanted, kJointMixer) & (slots_.size() - 1); slots_[slot] != kFree;
       slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot] == wanted) return true;
  }
  return false;
}

}  // namespace weft::subwords
