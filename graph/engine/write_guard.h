// Marks stores as torn if a run fails while it writes variables.
#pragma once

#include "weft/graph/engine/variable_store.h"

namespace weft {

/// Marks the stores of a run as torn if the run began to write variables but did not finish, so
/// that some variables have new values and others have old values. Must not outlive the locks of
/// the stores.
class WriteGuard {
 public:
  /// Either store may be null if the run updates nothing in it.
  WriteGuard(StoreAccess* shared, StoreAccess* own) : shared_(shared), own_(own) {}
  ~WriteGuard() {
    if (!writing_) return;
    if (shared_ != nullptr) shared_->tear();
    if (own_ != nullptr) own_->tear();
  }
  WriteGuard(const WriteGuard&) = delete;
  WriteGuard& operator=(const WriteGuard&) = delete;

  /// Must be called right before the first write to a variable.
  void begin() { writing_ = true; }
  /// Must be called after all updates are written.
  void commit() { writing_ = false; }
  bool writing() const { return writing_; }

 private:
  StoreAccess* shared_;
  StoreAccess* own_;
  bool writing_ = false;
};

}  // namespace weft
