#include "weft/graph/engine/packed_weights.h"

namespace weft {

std::shared_ptr<const Buffer> PackedWeights::get(std::string_view variable, std::uint64_t version,
                                                 const std::string& layout, std::size_t bytes,
                                                 const std::function<void(std::byte*)>& make) {
  const std::lock_guard lock(mutex_);
  const auto found = variables_.find(variable);
  if (found != variables_.end() && found->second.version == version) {
    const auto copy = found->second.by_layout.find(layout);
    if (copy != found->second.by_layout.end()) return copy->second;
  }
  const std::shared_ptr<Buffer> made = Buffer::allocate(bytes);
  make(made->data());
  // If a run still reads an older version, a private copy is returned; the newer copies stay in the
  // cache.
  if (found != variables_.end() && found->second.version > version) return made;
  Copies& copies = variables_[std::string(variable)];
  if (copies.version != version) copies = {version, {}};
  copies.by_layout.emplace(layout, made);
  return made;
}

void PackedWeights::drop(std::string_view variable) {
  const std::lock_guard lock(mutex_);
  const auto found = variables_.find(variable);
  if (found != variables_.end()) variables_.erase(found);
}

std::size_t PackedWeights::Copies::bytes() const {
  std::size_t sum = 0;
  for (const auto& [layout, buffer] : by_layout) sum += buffer->bytes();
  return sum;
}

std::size_t PackedWeights::bytes(std::string_view variable) const {
  const std::lock_guard lock(mutex_);
  const auto found = variables_.find(variable);
  return found == variables_.end() ? 0 : found->second.bytes();
}

std::size_t PackedWeights::bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [name, copies] : variables_) sum += copies.bytes();
  return sum;
}

}  // namespace weft
