// An unusual floating-point environment, as a host program may set it.
#pragma once

#include <cfenv>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

namespace weft::testing {

/// For as long as it exists, this thread rounds down and, if the CPU supports it, flushes denormals
/// to zero.
class OddFloatingPoint {
 public:
  OddFloatingPoint() {
    std::fegetenv(&saved_);
    std::fesetround(FE_DOWNWARD);
#ifdef __SSE2__
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
  }
  ~OddFloatingPoint() { std::fesetenv(&saved_); }
  OddFloatingPoint(const OddFloatingPoint&) = delete;
  OddFloatingPoint& operator=(const OddFloatingPoint&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace weft::testing
