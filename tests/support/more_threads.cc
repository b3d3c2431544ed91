#include "weft/tests/support/more_threads.h"

#include <cstddef>

#ifndef WEFT_STD_THREADS
#include <tbb/global_control.h>
#endif

namespace weft::testing {

#ifdef WEFT_STD_THREADS
struct MoreThreads::Impl {
  explicit Impl(int) {}
};
#else
struct MoreThreads::Impl {
  explicit Impl(int threads)
      : control(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)) {}
  tbb::global_control control;
};
#endif

MoreThreads::MoreThreads(int threads) : impl_(std::make_unique<Impl>(threads)) {}
MoreThreads::~MoreThreads() = default;

}  // namespace weft::testing
