// A cache with one entry.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Caches the value for the most recent key, for example the order of an epoch, which is used in
/// all steps of the epoch. Thread-safe; copies share the entry.
template <class Key, class Value>
class MemoizedLast {
 public:
  /// Returns the value for `key`. Computes it with make() unless it is cached.
  template <class Make>
  std::shared_ptr<const Value> operator()(const Key& key, Make&& make) const {
    const std::lock_guard lock(kept_->mutex);
    if (!kept_->key || *kept_->key != key) {
      kept_->value = std::make_shared<const Value>(make());
      kept_->key = key;
    }
    return kept_->value;
  }

 private:
  struct Kept {
    std::mutex mutex;
    std::optional<Key> key;
    std::shared_ptr<const Value> value;
  };
  std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

}  // namespace weft
