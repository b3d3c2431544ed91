// Findings of the attacks.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "program.h"

namespace weft::attack {

/// Settings of an attack.
struct Budget {
  std::uint64_t seed = 1;
  double seconds = 3;  // duration of each attack
  std::string shim;    // fault injection library; without it, attacks that need it are skipped
  // true if the program was built with a sanitizer; memory is then not limited
  bool sanitized = false;
};

/// Checks whether a number of seconds has passed.
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

/// Prints every finding with the command that reproduces it, and keeps copies of the input files.
class Report {
 public:
  explicit Report(std::string kept) : kept_(std::move(kept)) {}
  void count_run() { ++runs_; }
  /// Prints a finding. `file` is the input file to keep. It is empty if no single file caused the
  /// finding.
  void add_finding(const std::string& what, const Arguments& arguments, const Outcome& outcome,
                   const std::string& file = {});
  std::int64_t runs() const { return runs_; }
  std::int64_t findings() const { return findings_; }

 private:
  std::string kept_;
  std::int64_t runs_ = 0, findings_ = 0;
};

}  // namespace weft::attack
