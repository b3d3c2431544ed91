#include "weft/models/generate/window_caches.h"

#include <algorithm>

namespace weft {

bool changes_rotation(const GptConfig& config, std::int64_t before, std::int64_t after) {
  return config.rotary_scaling == RotaryScalingKind::longrope && before <= config.rotary_context &&
         after > config.rotary_context;
}

WindowCaches::WindowCaches(const Graph& graph, const GptConfig& config)
    : circular_(graph.find_symbol("piece") != nullptr), window_(config.window) {}

void WindowCaches::resize(std::int64_t capacity, std::int64_t piece) {
  capacity_ = capacity;
  piece_ = std::min(capacity, piece);
  kept_ = circular_ && window_ - 1 < capacity - piece_ ? window_ - 1 + piece_ : capacity;
}

DimValues WindowCaches::sizes() const {
  DimValues sizes = {{"capacity", capacity_}};
  if (circular_) sizes.emplace_back("piece", piece_);
  return sizes;
}

std::int64_t WindowCaches::next_piece(std::int64_t filled, std::int64_t added) const {
  return filled + added <= kept_ ? added : std::min(added, piece_);
}

bool WindowCaches::keeps(std::int64_t length, std::int64_t written) const {
  return length == 0 || written <= kept_ || written - kept_ <= length - (window_ - 1);
}

}  // namespace weft
