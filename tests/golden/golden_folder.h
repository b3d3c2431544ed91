// Finding and reading golden cases.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/tensor.h"

namespace weft::golden {

/// The folder that WEFT_GOLDENS names, else the project's fixtures.
std::filesystem::path folder();
/// Where WEFT_GOLDENS names none: what lies beside the project and has operations alone, if it is
/// there (goldens-loops: recurrent layers, normalisations with statistics, linear algebra).
std::optional<std::filesystem::path> further_operations();
nlohmann::json read_json(const std::filesystem::path& path);
/// All tensors of a safetensors file.
std::map<std::string, Tensor> read_tensors(const std::filesystem::path& path);
/// Sorted paths of the files <folder>/<first>/<second> where either may be a pattern with one '*'.
std::vector<std::filesystem::path> find_cases(const std::string& folder_pattern,
                                              const std::string& file_pattern,
                                              const std::filesystem::path& from = folder());

/// How far `actual` is from `reference`: max |difference| / max(max |reference|, floor); NaN counts
/// as infinite, equal infinities as equal. Throws ShapeError where the sizes differ.
double relative_error(const Tensor& actual, const Tensor& reference, double floor = 0);

/// Counts cases and prints one line each: "case NAME ok max_error=...", "case NAME FAIL ...",
/// "case NAME skipped (...)".
class Report {
 public:
  void ok(const std::string& name, double max_error);
  void fail(const std::string& name, const std::string& why);
  void skip(const std::string& name, const std::string& why);
  int passed() const { return passed_; }
  int failed() const { return failed_; }
  int skipped() const { return skipped_; }
  /// True if none failed and the folder has cases at all (of any kind); prints the totals.
  bool finish(const std::string& what) const;

 private:
  int passed_ = 0, failed_ = 0, skipped_ = 0;
};

}  // namespace weft::golden
