// New values of variables that are on their way.
#pragma once

#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// What a VariableStore knows of new values that other ranks are still sending: they come into the
/// memory of the variables while the rank that waits for them computes already. All functions may
/// be called from any thread.
class ComingValues {
 public:
  ComingValues() = default;
  ComingValues(const ComingValues&) = delete;
  ComingValues& operator=(const ComingValues&) = delete;
  virtual ~ComingValues() = default;

  /// Whether the variable has its new value, or none is coming (any more, where they are lost()).
  virtual bool has_come(std::string_view name) const = 0;
  virtual bool have_all_come() const = 0;
  /// Returns when that is so. Throws WorldError where they are lost().
  virtual void wait(std::string_view name) = 0;
  virtual void wait_for_all() = 0;
  /// They do not come any more, and some variables are half old, half new.
  virtual bool lost() const = 0;
};

}  // namespace weft
