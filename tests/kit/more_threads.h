// Tests of thread counts on machines with few CPUs.
#pragma once

#include <memory>

namespace weft::testing {

/// While it lives, as many Workers run as are asked for, up to `threads`: else TBB runs no more
/// than there are CPUs, and an arena of five on two of them would test two. Nothing to do in builds
/// without TBB (WEFT_STD_THREADS).
class MoreThreads {
 public:
  explicit MoreThreads(int threads = 6);
  ~MoreThreads();
  MoreThreads(const MoreThreads&) = delete;
  MoreThreads& operator=(const MoreThreads&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::testing
