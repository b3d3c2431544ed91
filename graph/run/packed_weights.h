// Copies of weights in the order in which kernels read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// By variable, version and layout. Thread-safe. A copy lives as long as somebody reads it; of a
/// variable only copies of its newest version are kept.
class PackedWeights {
 public:
  /// The copy of version `version` of a variable in `layout`, of `bytes` bytes. If it is not there,
  /// `make` fills it, while others wait.
  std::shared_ptr<const Buffer> get(std::string_view variable, std::uint64_t version,
                                    const std::string& layout, std::size_t bytes,
                                    const std::function<void(std::byte*)>& make);
  /// Forgets the copies of a variable: it has a new value.
  void drop(std::string_view variable);
  /// Bytes of the copies of one variable, or of all.
  std::size_t bytes(std::string_view variable) const;
  std::size_t bytes() const;

 private:
  struct Copies {
    std::uint64_t version = 0;
    std::map<std::string, std::shared_ptr<const Buffer>> by_layout;
    std::size_t bytes() const;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Copies, std::less<>> variables_;
};

}  // namespace weft
