// The floating-point environment that all chunks run in.
#pragma once

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The default environment (round to nearest, denormals kept, nothing trapped) for as long as it
/// lives, on this thread.
class DefaultFloatingPoint {
 public:
#if defined(__x86_64__) || defined(__i386__)
  DefaultFloatingPoint() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~DefaultFloatingPoint() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
  DefaultFloatingPoint() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif
 public:
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;
};

}  // namespace weft
