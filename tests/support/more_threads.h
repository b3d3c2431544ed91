// Allows tests with more threads than the machine has CPUs.
#pragma once

#include <memory>

namespace weft::testing {

/// While it exists, Workers can use up to `threads` threads. By default, TBB runs no more threads
/// than there are CPUs, so that a test with five threads on two CPUs would only use two. Has no
/// effect in builds without TBB (WEFT_STD_THREADS).
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
