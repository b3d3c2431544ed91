// Utilities to find, read and report golden cases.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/tensor.h"

namespace weft::golden {

/// Returns the folder in the environment variable WEFT_GOLDENS or, if it is not set, the project's
/// fixtures.
std::filesystem::path folder();
/// Returns the optional folder ../shared/goldens-loops next to the project, which contains only
/// operations: recurrent layers, normalisations with statistics, and linear algebra. Returns
/// nullopt if the folder does not exist or WEFT_GOLDENS is set.
std::optional<std::filesystem::path> further_operations();
/// Returns the optional folder ../shared/goldens-modern next to the project: models of 2020 to
/// 2026. Returns nullopt if the folder does not exist or WEFT_GOLDENS is set.
std::optional<std::filesystem::path> further_models();
nlohmann::json read_json(const std::filesystem::path& path);
/// Returns all tensors of a safetensors file by name.
std::map<std::string, Tensor> read_tensors(const std::filesystem::path& path);
/// Returns the sorted paths of all files <from>/<folder_pattern>/<file_pattern>. Both patterns may
/// contain one '*'.
std::vector<std::filesystem::path> find_cases(const std::string& folder_pattern,
                                              const std::string& file_pattern,
                                              const std::filesystem::path& from = folder());

/// Returns find_cases(folder_pattern, file) of the golden folder and of further_models(). A case
/// that is in both occurs once.
std::vector<std::filesystem::path> find_model_cases(const std::string& folder_pattern,
                                                    const std::string& file);
/// Returns true if build_model() supports the model type of the case in `folder`.
bool is_supported(const std::filesystem::path& folder);

/// Returns max |actual - reference| / max(max |reference|, floor). Equal infinities count as equal,
/// and so do two NaNs. A NaN in only one of the tensors is an infinite error. Throws ShapeError if
/// the sizes differ.
double relative_error(const Tensor& actual, const Tensor& reference, double floor = 0);

/// Counts cases and prints one line for each: "case NAME ok max_error=...", "case NAME FAIL ...",
/// "case NAME skipped (...)".
class Report {
 public:
  void ok(const std::string& name, double max_error);
  void fail(const std::string& name, const std::string& why);
  void skip(const std::string& name, const std::string& why);
  int passed() const { return passed_; }
  int failed() const { return failed_; }
  int skipped() const { return skipped_; }
  /// Prints the totals. Returns true if no case failed and the golden folder contains at least one
  /// case.
  bool finish(const std::string& what) const;

 private:
  int passed_ = 0, failed_ = 0, skipped_ = 0;
};

}  // namespace weft::golden
