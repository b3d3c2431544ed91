// A value that is made anew only where another one is asked for.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Keeps the value of the last key that was asked for: the order of an epoch, which all of its
/// steps read. For any number of threads; copies share what is kept.
template <class Key, class Value>
class LastMade {
 public:
  /// The value of `key`, which is make() where it is not the last one.
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
