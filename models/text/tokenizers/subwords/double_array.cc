#include "weft/models/text/tokenizers/subwords/double_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "weft/core/error.h"

namespace weft {
namespace {

/// Places the nodes in depth-first order. All children of a node are placed in one block: the first
/// of the recent blocks that has room for them.
class Builder {
 public:
  using Strings = std::vector<std::pair<std::string_view, std::int32_t>>;

  Builder(const Strings& strings, bool leaves, std::size_t most)
      : strings_(strings), leaves_(leaves), most_(most) {
    add_block();
    take(0, DoubleArrayNode::kRoot);
    base_taken_[0] = true;  // base 0 means "no children"
    std::vector<Part> parts = {{0, strings.size(), 0, 0}};
    while (!parts.empty()) {
      const Part part = parts.back();
      parts.pop_back();
      place_children(part, parts);
    }
  }

  std::vector<DoubleArrayNode> take_nodes() { return std::move(nodes_); }

 private:
  static constexpr std::size_t kBlock = 256;
  // Only the last blocks are searched for free elements; older ones are nearly full.
  static constexpr std::size_t kOpenBlocks = 16;

  // Strings that have a common prefix of `depth` bytes, which leads to `node`.
  struct Part {
    std::size_t begin, end, depth;
    std::uint32_t node;
  };

  void add_block() {
    if (nodes_.size() + kBlock > most_) {
      throw DataError(fmt::format(
          "too many strings for a double-array trie: it would need more than {} nodes", most_));
    }
    const std::size_t begin = nodes_.size();
    nodes_.resize(begin + kBlock);
    base_taken_.resize(nodes_.size(), false);
    next_free_.resize(nodes_.size() + 1);
    previous_free_.resize(nodes_.size() + 1);
    // The index after the last node is always the last element of the list.
    for (std::size_t node = begin; node < nodes_.size(); ++node) {
      next_free_[node] = static_cast<std::uint32_t>(node + 1);
      previous_free_[node + 1] = static_cast<std::uint32_t>(node);
    }
  }
  void take(std::size_t node, std::uint16_t label) {
    nodes_[node].label = label;
    const std::uint32_t next = next_free_[node];
    if (node == first_free_) {
      first_free_ = next;
      return;
    }
    if (node < first_free_) return;  // in a closed block, which is no longer part of the list
    next_free_[previous_free_[node]] = next;
    previous_free_[next] = previous_free_[node];
  }
  bool is_free(std::size_t node) const { return nodes_[node].label == DoubleArrayNode::kFree; }

  /// Returns an unused base for which the elements at all `labels` are free.
  std::uint32_t find_base(const unsigned char* labels, std::size_t count) {
    const std::size_t first =
        nodes_.size() > kOpenBlocks * kBlock ? nodes_.size() - kOpenBlocks * kBlock : 0;
    while (first_free_ < first) first_free_ = next_free_[first_free_];
    for (std::size_t node = first_free_; node < nodes_.size(); node = next_free_[node]) {
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
    std::int32_t value = -1;
    for (; begin < part.end && strings_[begin].first.size() == part.depth; ++begin) {
      if (part.depth > 0 && value < 0) value = strings_[begin].second;
    }
    const bool leaf = leaves_ && value >= 0;
    if (!leaves_) nodes_[part.node].value = value;
    if (begin == part.end && !leaf) return;
    const auto byte = [&](std::size_t i) {
      return static_cast<unsigned char>(strings_[i].first[part.depth]);
    };
    std::array<unsigned char, kBlock + 1> labels;
    std::size_t count = 0;
    if (leaf) labels[count++] = 0;
    const std::size_t children = count;  // index of the first child that is not the leaf
    for (std::size_t i = begin; i < part.end; ++i) {
      if (count == children || byte(i) != labels[count - 1]) labels[count++] = byte(i);
    }
    const std::uint32_t base = find_base(labels.data(), count);
    base_taken_[base] = true;
    nodes_[part.node].base = base;
    if (leaf) {
      take(base, DoubleArrayNode::kLeaf);
      nodes_[base].value = value;
    }
    for (std::size_t k = children; k < count; ++k) take(base ^ labels[k], labels[k]);
    for (std::size_t k = children; k < count; ++k) {
      std::size_t end = begin;
      while (end < part.end && byte(end) == labels[k]) ++end;
      parts.push_back({begin, end, part.depth + 1, base ^ labels[k]});
      begin = end;
    }
  }

  const Strings& strings_;
  bool leaves_;
  std::size_t most_;
  std::vector<DoubleArrayNode> nodes_;
  std::vector<bool> base_taken_;
  // A doubly linked list of the free nodes. It starts at first_free_.
  std::vector<std::uint32_t> next_free_, previous_free_;
  std::size_t first_free_ = 0;
};

}  // namespace

std::vector<DoubleArrayNode> double_array(
    std::vector<std::pair<std::string_view, std::int32_t>> strings, bool leaves, std::size_t most) {
  std::stable_sort(strings.begin(), strings.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return Builder(strings, leaves, most).take_nodes();
}

}  // namespace weft
