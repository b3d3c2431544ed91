// What an attack found.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "program.h"

namespace weft::attack {

/// How long and how often: attacks end when either is used up.
struct Budget {
  std::uint64_t seed = 1;
  double seconds = 3;      // for each attack
  std::string shim;        // the library of faults; empty: attacks that need it are left out
  bool sanitized = false;  // so is the program: no limits of memory
};

class Clock {
 public:
  explicit Clock(double seconds) : seconds_(seconds) {}
  bool over() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count() >
           seconds_;
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double seconds_;
};

/// Prints every finding with what makes it again, and keeps its files.
class Report {
 public:
  explicit Report(std::string kept) : kept_(std::move(kept)) {}
  void ran() { ++runs_; }
  /// `file` is what the command read; empty where that says nothing.
  void found(const std::string& what, const Arguments& arguments, const Outcome& outcome,
             const std::string& file = {});
  std::int64_t runs() const { return runs_; }
  std::int64_t findings() const { return findings_; }

 private:
  std::string kept_;
  std::int64_t runs_ = 0, findings_ = 0;
};

}  // namespace weft::attack
