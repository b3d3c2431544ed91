#include "weft/models/program/commands/calibration_data.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "weft/core/error.h"
#include "weft/models/program/terminal/usage_error.h"

namespace weft::program {
namespace {

namespace fs = std::filesystem;

constexpr double kHeldOut = 0.45;  // accepted by all tasks

bool is_path(const TaskOption& option) {
  return option.type == TaskOption::Type::file || option.type == TaskOption::Type::files;
}

/// Returns the option that passes calibration data to the task: --validation if it has this option,
/// because such a set is used as a whole.
std::string data_option(const Task& task) {
  const TaskOptions options = task.options();
  std::string name;
  for (const TaskOption& option : options.options) {
    if (!option.data || !is_path(option)) continue;
    if (option.name == kValidationOption) return option.name;
    if (name.empty()) name = option.name;
  }
  if (name.empty()) {
    throw UsageError(
        fmt::format("models of the task {} cannot be calibrated: the task reads no "
                    "data",
                    task.info().name));
  }
  return name;
}

void check_has_lines(const std::string& path) {
  const std::string ending = fs::path(path).extension().string();
  if (!fs::is_directory(path) && ending != ".json" && ending != ".tok" && ending != ".gz") return;
  throw UsageError(fmt::format("--calibration-lines is for text files, but --calibrate {} is {}",
                               path,
                               fs::is_directory(path) ? "a folder" : "a " + ending + " file"));
}

/// Creates a folder for temporary files.
std::string temporary_folder() {
  std::string path = (fs::temp_directory_path() / "weft-calibration-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr)
    throw IoError(fmt::format("cannot create the temporary folder {}", path));
  return path;
}

void copy_lines(const std::string& from, const std::string& to, std::int64_t lines) {
  std::ifstream in(from, std::ios::binary);
  std::ofstream out(to, std::ios::binary);
  std::string line;
  for (std::int64_t i = 0; i < lines && std::getline(in, line); ++i) out << line << '\n';
  if (in.bad() || !in.is_open()) throw IoError(fmt::format("cannot read --calibrate {}", from));
  if (!out.flush()) throw IoError(fmt::format("cannot write the temporary file {}", to));
}

}  // namespace

CalibrationData::CalibrationData(const Task& task, const std::string& path,
                                 std::optional<std::int64_t> lines, const OptionValues& given) {
  std::string data = path;
  if (lines) {
    check_has_lines(path);
    folder_ = temporary_folder();
    data = (fs::path(folder_) / fs::path(path).filename()).string();
    try {
      copy_lines(path, data, *lines);
    } catch (...) {
      fs::remove_all(folder_);
      throw;
    }
  }
  const std::string name = data_option(task);
  values_.add(name, data);
  const TaskOptions options = task.options();
  for (const TaskOption& option : options.options) {
    if (!option.data || is_path(option)) continue;
    for (const std::string& value : given.texts(option.name)) values_.add(option.name, value);
    // Only labelled texts have this fraction; the others use TrainSettings::validation_fraction.
    if (option.name == "--test-fraction" && name == kDataOption && !given.has(option.name))
      values_.add(option.name, fmt::format("{}", kHeldOut));
  }
}

CalibrationData::~CalibrationData() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

std::unique_ptr<TrainedModel> CalibrationData::reading(const TrainedModel& model) const {
  auto copy = model.clone();
  copy->settings.validation_fraction = kHeldOut;
  return copy;
}

}  // namespace weft::program
