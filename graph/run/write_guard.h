// What a run that fails leaves behind in the stores that it updates.
#pragma once

#include "weft/graph/run/variable_store.h"

namespace weft {

/// Tears the stores of a run that began to write variables and did not finish: some of them have
/// new values then, and others old ones. Lives no longer than the locks of the stores.
class WriteGuard {
 public:
  /// Null for a store in which the run updates nothing.
  WriteGuard(StoreAccess* shared, StoreAccess* own) : shared_(shared), own_(own) {}
  ~WriteGuard() {
    if (!writing_) return;
    if (shared_ != nullptr) shared_->tear();
    if (own_ != nullptr) own_->tear();
  }
  WriteGuard(const WriteGuard&) = delete;
  WriteGuard& operator=(const WriteGuard&) = delete;

  /// The next instruction may write to a variable.
  void begin() { writing_ = true; }
  /// All updates are written.
  void commit() { writing_ = false; }
  bool writing() const { return writing_; }

 private:
  StoreAccess* shared_;
  StoreAccess* own_;
  bool writing_ = false;
};

}  // namespace weft
