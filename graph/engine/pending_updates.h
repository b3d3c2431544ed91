// Pending updates: updates of variables that other ranks are still sending.
#pragma once

#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A VariableStore's interface to updates of variables that other ranks are still sending. The new
/// values arrive in the memory of the variables while the receiving rank is already computing. All
/// functions may be called from any thread.
class PendingUpdates {
 public:
  PendingUpdates() = default;
  PendingUpdates(const PendingUpdates&) = delete;
  PendingUpdates& operator=(const PendingUpdates&) = delete;
  virtual ~PendingUpdates() = default;

  /// Returns true if no update of the variable is pending, because the update has arrived, no
  /// update was expected, or the remaining updates are lost().
  virtual bool has_arrived(std::string_view name) const = 0;
  /// Returns true if no update of any variable is pending.
  virtual bool have_all_arrived() const = 0;
  /// Blocks until the update of the variable, or of all variables, has arrived. Throws WorldError
  /// if the updates are lost().
  virtual void wait(std::string_view name) = 0;
  virtual void wait_for_all() = 0;
  /// Returns true if the remaining updates will never arrive. Some variables are then partly old
  /// and partly new.
  virtual bool lost() const = 0;
};

}  // namespace weft
