#include "golden_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "weft/core/error.h"
#include "weft/models/hf/model.h"
#include "weft/serialization/safetensors.h"

namespace weft::golden {
namespace fs = std::filesystem;
namespace {

bool matches(const std::string& name, const std::string& pattern) {
  const auto star = pattern.find('*');
  if (star == std::string::npos) return name == pattern;
  const std::string head = pattern.substr(0, star), tail = pattern.substr(star + 1);
  return name.size() >= head.size() + tail.size() && name.starts_with(head) && name.ends_with(tail);
}

std::optional<fs::path> given_folder() {
  const char* given = std::getenv("WEFT_GOLDENS");
  return given != nullptr && *given != '\0' ? std::optional<fs::path>(given) : std::nullopt;
}

/// Returns the folder ../shared/<name> next to the project.
std::optional<fs::path> beside(const char* name) {
  const fs::path path = fs::path(WEFT_SOURCE_DIR) / "../shared" / name;
  if (given_folder() || !fs::is_directory(path)) return std::nullopt;
  return path;
}

}  // namespace

fs::path folder() { return given_folder().value_or(fs::path(WEFT_FIXTURES) / "goldens"); }

std::optional<fs::path> further_operations() { return beside("goldens-loops"); }
std::optional<fs::path> further_models() { return beside("goldens-modern"); }

nlohmann::json read_json(const fs::path& path) {
  std::ifstream in(path);
  if (!in) throw IoError(fmt::format("cannot read {}", path.string()));
  return nlohmann::json::parse(in);
}

std::map<std::string, Tensor> read_tensors(const fs::path& path) {
  std::map<std::string, Tensor> result;
  for (auto& [name, tensor] : read_safetensors(path.string()).tensors) result.emplace(name, tensor);
  return result;
}

std::vector<fs::path> find_cases(const std::string& folder_pattern, const std::string& file_pattern,
                                 const fs::path& from) {
  std::vector<fs::path> result;
  if (!fs::is_directory(from)) return result;
  for (const auto& dir : fs::directory_iterator(from)) {
    if (!dir.is_directory() || !matches(dir.path().filename().string(), folder_pattern)) continue;
    for (const auto& file : fs::directory_iterator(dir.path())) {
      if (matches(file.path().filename().string(), file_pattern)) result.push_back(file.path());
    }
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<fs::path> find_model_cases(const std::string& folder_pattern, const std::string& file) {
  std::vector<fs::path> cases = find_cases(folder_pattern, file);
  const auto further = further_models();
  if (!further) return cases;
  for (const fs::path& path : find_cases(folder_pattern, file, *further)) {
    if (!fs::exists(folder() / path.parent_path().filename())) cases.push_back(path);
  }
  return cases;
}

bool is_supported(const fs::path& folder) {
  const std::string type = read_json(folder / "config.json").at("model_type");
  const auto types = hf::supported_model_types();
  return std::find(types.begin(), types.end(), type) != types.end();
}

double relative_error(const Tensor& actual, const Tensor& reference, double floor) {
  if (actual.sizes() != reference.sizes()) {
    throw ShapeError(fmt::format("the result is {}, but the reference is {}", actual.type_str(),
                                 reference.type_str()));
  }
  double largest = 0, difference = 0;
  for (std::int64_t i = 0; i < reference.numel(); ++i) {
    const double r = reference.at(i), a = actual.at(i);
    if (std::isfinite(r)) largest = std::max(largest, std::abs(r));
    if (r == a || (std::isnan(r) && std::isnan(a))) continue;
    const double d = std::abs(r - a);
    difference = std::isnan(d) ? HUGE_VAL : std::max(difference, d);
  }
  if (difference == 0) return 0;
  return difference / std::max(largest, floor);
}

void Report::ok(const std::string& name, double max_error) {
  ++passed_;
  fmt::print("case {} ok max_error={:.3g}\n", name, max_error);
}

void Report::fail(const std::string& name, const std::string& why) {
  ++failed_;
  std::string line = why;
  std::replace(line.begin(), line.end(), '\n', ' ');
  fmt::print("case {} FAIL {}\n", name, line);
}

void Report::skip(const std::string& name, const std::string& why) {
  ++skipped_;
  fmt::print("case {} skipped ({})\n", name, why);
}

bool Report::finish(const std::string& what) const {
  fmt::print("{}: {} passed, {} failed, {} skipped\n", what, passed_, failed_, skipped_);
  const bool any_case = !find_cases("ops", "*.json").empty() ||
                        !find_cases("*", "case.json").empty() ||
                        !find_cases("train-*", "train.json").empty();
  if (!any_case) fmt::print("no golden case found in {}\n", folder().string());
  return failed_ == 0 && any_case;
}

}  // namespace weft::golden
