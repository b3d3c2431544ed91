#include "weft/models/text/tokenizers/subwords/piece_trie.h"

#include "weft/models/text/tokenizers/subwords/double_array.h"

namespace weft {

PieceTrie::PieceTrie(std::vector<std::pair<std::string_view, std::int32_t>> pieces) {
  constexpr std::size_t kMaxNodes = std::size_t{1} << (32 - kLabelBits);
  static_assert(DoubleArrayNode::kFree == kFree);
  const auto nodes = double_array(std::move(pieces), false, kMaxNodes);
  nodes_.reserve(nodes.size());
  for (const DoubleArrayNode& node : nodes)
    nodes_.push_back({node.base << kLabelBits | node.label, node.value});
}

PieceTrie::Match PieceTrie::longest(std::string_view text) const {
  Match best;
  std::uint32_t node = kRoot;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!step(node, static_cast<unsigned char>(text[i]))) break;
    if (id(node) != kNone) best = {id(node), static_cast<std::uint32_t>(i + 1)};
  }
  return best;
}

std::int32_t PieceTrie::find(std::string_view text) const {
  std::uint32_t node = kRoot;
  for (const char c : text) {
    if (!step(node, static_cast<unsigned char>(c))) return kNone;
  }
  return id(node);
}

}  // namespace weft
