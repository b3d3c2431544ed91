#include "weft/models/tokenizers/subwords/piece_trie.h"

#include <algorithm>
#include <array>

#include "weft/core/error.h"

namespace weft {

/// Places the nodes, depth first; those of one parent in the first blocks that have room for them.
class PieceTrieBuilder {
 public:
  using Pieces = std::vector<std::pair<std::string_view, std::int32_t>>;

  explicit PieceTrieBuilder(const Pieces& pieces) : pieces_(pieces) {
    add_block();
    nodes_[PieceTrie::kRoot].base_and_label = kRootLabel;
    base_taken_[0] = true;  // means "no children"
    std::vector<Part> parts = {{0, pieces.size(), 0, PieceTrie::kRoot}};
    while (!parts.empty()) {
      const Part part = parts.back();
      parts.pop_back();
      place_children(part, parts);
    }
  }

  std::vector<PieceTrie::Node> take_nodes() { return std::move(nodes_); }

 private:
  static constexpr std::size_t kBlock = 256;
  static constexpr std::size_t kOpenBlocks = 16;  // older ones are nearly full: not looked at again
  static constexpr std::uint32_t kRootLabel = kBlock;  // no byte, and not free
  static constexpr std::size_t kMostNodes = std::size_t{1} << (32 - PieceTrie::kLabelBits);

  struct Part {  // pieces that agree in their first `depth` bytes, which lead to `node`
    std::size_t begin, end, depth;
    std::uint32_t node;
  };

  void add_block() {
    if (nodes_.size() + kBlock > kMostNodes)
      throw DataError("a vocabulary with too many different beginnings of pieces: over 8 million");
    nodes_.resize(nodes_.size() + kBlock);
    base_taken_.resize(nodes_.size(), false);
  }
  bool is_free(std::size_t node) const {
    return (nodes_[node].base_and_label & PieceTrie::kFree) == PieceTrie::kFree;
  }

  /// A base whose nodes for `labels` are free, and which no node has yet.
  std::uint32_t find_base(const unsigned char* labels, std::size_t count) {
    const std::size_t first =
        nodes_.size() > kOpenBlocks * kBlock ? nodes_.size() - kOpenBlocks * kBlock : 0;
    first_free_ = std::max(first_free_, first);
    while (first_free_ < nodes_.size() && !is_free(first_free_)) ++first_free_;
    for (std::size_t node = first_free_; node < nodes_.size(); ++node) {
      if (!is_free(node)) continue;
      const std::size_t base = node ^ labels[0];
      if (base_taken_[base]) continue;
      const bool fits = std::all_of(labels + 1, labels + count,
                                    [&](unsigned char label) { return is_free(base ^ label); });
      if (fits) return static_cast<std::uint32_t>(base);
    }
    const std::size_t base = nodes_.size();
    add_block();
    return static_cast<std::uint32_t>(base ^ labels[0]);
  }

  void place_children(const Part& part, std::vector<Part>& parts) {
    std::size_t begin = part.begin;
    while (begin < part.end && pieces_[begin].first.size() == part.depth) {
      if (part.depth > 0 && nodes_[part.node].id == PieceTrie::kNone)
        nodes_[part.node].id = pieces_[begin].second;
      ++begin;
    }
    if (begin == part.end) return;
    const auto byte = [&](std::size_t i) {
      return static_cast<unsigned char>(pieces_[i].first[part.depth]);
    };
    std::array<unsigned char, kBlock> labels;
    std::size_t count = 0;
    for (std::size_t i = begin; i < part.end; ++i) {
      if (count == 0 || byte(i) != labels[count - 1]) labels[count++] = byte(i);
    }
    const std::uint32_t base = find_base(labels.data(), count);
    base_taken_[base] = true;
    nodes_[part.node].base_and_label |= base << PieceTrie::kLabelBits;
    for (std::size_t k = 0; k < count; ++k) nodes_[base ^ labels[k]].base_and_label = labels[k];
    for (std::size_t k = 0; k < count; ++k) {
      std::size_t end = begin;
      while (end < part.end && byte(end) == labels[k]) ++end;
      parts.push_back({begin, end, part.depth + 1, base ^ labels[k]});
      begin = end;
    }
  }

  const Pieces& pieces_;
  std::vector<PieceTrie::Node> nodes_;
  std::vector<bool> base_taken_;
  std::size_t first_free_ = 0;
};

PieceTrie::PieceTrie(std::vector<std::pair<std::string_view, std::int32_t>> pieces) {
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  nodes_ = PieceTrieBuilder(pieces).take_nodes();
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
