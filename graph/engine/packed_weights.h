// Copies of weights in the layouts that kernels read.
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

/// Packed copies by variable, version and layout. Thread-safe. A copy is kept as long as it has a
/// reader; the cache itself keeps only copies of the newest version of a variable.
class PackedWeights {
 public:
  /// Returns the copy of version `version` of a variable in `layout`, with a size of `bytes` bytes.
  /// If the copy does not exist yet, `make` fills it while other callers wait.
  std::shared_ptr<const Buffer> get(std::string_view variable, std::uint64_t version,
                                    const std::string& layout, std::size_t bytes,
                                    const std::function<void(std::byte*)>& make);
  /// Drops the copies of a variable after its value has changed.
  void drop(std::string_view variable);
  /// Returns the size in bytes of the copies of one variable, or of all variables.
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
