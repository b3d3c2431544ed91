// Allows tests of thread counts on machines with few CPUs.
#pragma once

#include <memory>

namespace weft::testing {

/// During its lifetime, Workers can use up to `threads` threads. Otherwise TBB runs no more threads
/// than there are CPUs, and a test of five threads on two CPUs would only test two. Has no effect
/// in builds without TBB (WEFT_STD_THREADS).
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
