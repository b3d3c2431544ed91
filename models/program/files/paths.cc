#include "weft/models/program/files/paths.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/read_log.h"
#include "weft/models/hf/folder_target.h"
#include "weft/models/program/files/run_lock.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/text/tokens/token_set.h"
#include "weft/models/text/tokens/token_sources.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/files/atomic_file.h"
#include "weft/serialization/files/atomic_folder.h"
#include "weft/serialization/files/temporary_files.h"

namespace weft::program {
namespace {

namespace fs = std::filesystem;

/// Returns the path after resolving symbolic links. The target of the last link need not exist.
fs::path resolved(const std::string& path) {
  constexpr int kMaxLinks = 40;
  std::error_code error;
  fs::path at = fs::absolute(path, error);
  for (int i = 0; i < kMaxLinks && fs::is_symlink(at, error); ++i) {
    const fs::path to = fs::read_symlink(at, error);
    if (error) break;
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  fs::path found = fs::weakly_canonical(at, error);
  if (error) found = at;
  return found.has_filename() ? found : found.parent_path();  // without a trailing slash
}

bool is_inside(const fs::path& file, const fs::path& folder) {
  for (fs::path at = file.parent_path(); at != at.parent_path(); at = at.parent_path()) {
    if (at == folder) return true;
  }
  return folder == folder.root_path();
}

/// Throws IoError if the existing file is a trainable model. It is more valuable than the model
/// that would replace it, which cannot be trained.
void check_trainable(const std::string& what, const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return;
  bool trainable = false;
  try {
    trainable = load_checkpoint(path).has_program("train");
  } catch (const Error&) {
    return;  // not a model, so it needs no protection
  }
  if (trainable) {
    throw IoError(
        fmt::format("{} {} is a trainable model and would be replaced by one that cannot be "
                    "trained: name another file, or add --force",
                    what, path));
  }
}

/// Returns the file name in the value of an option. For a set of token files, the value may also
/// contain a weight.
std::string path_of(const std::string& value) {
  try {
    return parse_source(value).path;
  } catch (const ArgumentError&) {  // an invalid weight, which is reported when the value is read
    return value.substr(0, value.rfind('='));
  }
}

/// Returns the file number if `name` is the name of a token file with this prefix, otherwise -1.
std::int64_t token_file_number(const std::string& prefix, const std::string& name) {
  const std::size_t begin = prefix.size() + 1, end = name.find_last_of('.');
  std::int64_t number = -1;
  if (end == std::string::npos || begin >= end) return number;
  std::from_chars(name.data() + begin, name.data() + end, number);
  return number >= 0 && token_file_name(prefix, number) == name ? number : -1;
}

/// Throws IoError unless the path does not exist or is a regular file that may be written.
void check_place(const std::string& what, const std::string& path) {
  const auto refuse = [&](const char* why) {
    throw IoError(fmt::format("{}: cannot write {}: {}", what, path, why));
  };
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) refuse(std::strerror(errno));
    const fs::path folder = resolved(path).parent_path();
    std::error_code ignored;
    if (!fs::is_directory(folder.empty() ? "." : folder, ignored))
      throw IoError(
          fmt::format("{}: cannot write {}: there is no folder {}", what, path, folder.string()));
    return;
  }
  if (S_ISDIR(status.st_mode)) refuse("it is a folder");
  if (!S_ISREG(status.st_mode)) refuse("it is a device, a pipe or a socket, not a file");
  if ((status.st_mode & (S_IWUSR | S_IWGRP | S_IWOTH)) == 0) refuse("it is write-protected");
}

/// Returns the path of the file in an input folder that is the same file as `path`, under this name
/// or through a link. Returns "" if there is none. Ignores the models and plots in the folder,
/// which are not read as data.
std::string found_in(const std::string& folder, const std::string& path) {
  struct stat wanted = {};
  if (::stat(path.c_str(), &wanted) != 0) return "";
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string ending = it->path().extension().string();
    struct stat status = {};
    if (ending == ".weft" || ending == ".svg" || ::stat(it->path().c_str(), &status) != 0) continue;
    if (status.st_ino == wanted.st_ino && status.st_dev == wanted.st_dev)
      return it->path().string();
  }
  return "";
}

}  // namespace

struct PlannedFiles {
  struct Input {
    std::string what, path;
  };
  struct Output {
    std::string what, path;
    bool is_folder = false;
    /// An input that this output may replace: the file of a resumed run.
    std::string replaced = {};

    /// Returns true if writing this output would destroy `input`.
    bool destroys(const ReadLog::File& input) const {
      if (is_folder) return is_inside(resolved(input.path), resolved(path));
      struct stat status = {};
      const bool same = ::stat(path.c_str(), &status) == 0 && status.st_dev == input.device &&
                        status.st_ino == input.inode;
      return same && (replaced.empty() || !same_file(path, replaced));
    }
    void check(const ReadLog::File& input) const {
      if (!destroys(input)) return;
      throw UsageError(
          is_folder
              ? fmt::format("{} {} would replace the folder that contains {}, which this command "
                            "reads: name another folder",
                            what, path, input.path)
              : fmt::format("{} {} would replace {}, which this command reads: name another file",
                            what, path, input.path == path ? "an input file" : input.path));
    }
  };

  bool force = false, checks = true;
  bool complete = false;  // all inputs have been read
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  ReadLog read;

  void check_inputs() {
    if (complete) return;
    complete = true;
    read.stop();
    if (!checks) return;
    for (const ReadLog::File& input : read.files()) {
      for (const Output& output : outputs) output.check(input);
    }
  }
};

OutputInspection::OutputInspection(const CommandPaths& paths) : files_(paths.files_) {
  files_->read.stop();
}

OutputInspection::~OutputInspection() {
  if (!files_->complete) files_->read.resume();
}

const std::string& OutputFile::path() const {
  files_->check_inputs();
  return path_;
}

CommandPaths::CommandPaths() : files_(std::make_shared<PlannedFiles>()) {}

CommandPaths::CommandPaths(const CLI::App& command, bool force) : CommandPaths() {
  files_->force = force;
  for (const GivenOption& option : given_options(command)) {
    if (option.type != kInputType) continue;
    for (const std::string& value : option.values)
      files_->inputs.push_back({option.name, path_of(value)});
  }
}

void CommandPaths::leave_to_first_rank() { files_->checks = false; }

void CommandPaths::check_inputs() const { files_->check_inputs(); }

void CommandPaths::refuse_input(const std::string& what, const std::string& path, FileKind kind,
                                std::string_view excluded) const {
  for (const PlannedFiles::Input& input : files_->inputs) {
    if (input.what == excluded) continue;
    const auto refuse = [&](const std::string& why, std::string_view remedy) {
      throw UsageError(fmt::format("{} {} {} {} {}, which is an input: {}", what, path, why,
                                   input.what, input.path, remedy));
    };
    if (same_file(path, input.path)) refuse("would replace", "name another file");
    if (is_temporary_file(resolved(input.path).string(), resolved(path).string()))
      refuse("would remove its temporary file", "rename the input first");
    std::error_code ignored;
    if (!fs::is_directory(input.path, ignored)) continue;
    const bool inside = is_inside(resolved(path), resolved(input.path));
    // A training run may write its own files into its data folder, because they are never read as
    // data.
    const bool own = is_model(kind) || kind == FileKind::plot;
    if (inside && (!own || (fs::exists(path, ignored) && !reason_to_keep(path, kind).empty())))
      refuse("is inside", "name a file elsewhere");
    if (const std::string file = found_in(input.path, path); !file.empty())
      refuse(fmt::format("would replace {} in", file), "name another file");
  }
}

void CommandPaths::refuse_output(const std::string& what, const std::string& path) const {
  for (const PlannedFiles::Output& output : files_->outputs) {
    if (same_file(path, output.path)) {
      throw UsageError(fmt::format("{} {} and {} {} are the same file: give them different names",
                                   what, path, output.what, output.path));
    }
  }
}

OutputFile CommandPaths::add(const std::string& what, const std::string& path,
                             const std::string& replaced) const {
  files_->outputs.push_back({what, path, false, replaced});
  return OutputFile(path, files_);
}

OutputFile CommandPaths::plan(const std::string& what, const std::string& path, FileKind kind,
                              std::string_view replaced) {
  const auto excluded = std::find_if(files_->inputs.begin(), files_->inputs.end(),
                                     [&](const auto& input) { return input.what == replaced; });
  const PlannedFiles::Output output{
      what, path, false, excluded == files_->inputs.end() ? std::string() : excluded->path};
  if (!files_->checks) return add(what, path);
  if (path.empty())
    throw UsageError(fmt::format("{} is empty: it must name the file to write", what));
  check_name(what, path, kind);
  const OutputInspection inspection(*this);
  refuse_input(what, path, kind, replaced);
  for (const ReadLog::File& input : files_->read.files()) output.check(input);
  refuse_output(what, path);
  check_place(what, path);
  check_no_run(what, path);
  try {
    // Creates a temporary file next to `path` and removes it again, so that a later write cannot
    // fail because of missing permissions.
    const AtomicFile probe(path);
  } catch (const IoError& e) {
    throw IoError(fmt::format("{}: {}", what, e.what()));
  }
  std::error_code ignored;
  if (!files_->force && fs::exists(path, ignored)) {
    if (const std::string why = reason_to_keep(path, kind); !why.empty()) {
      // Some commands that write a timeline have no --force, or one that forces tokens.
      throw IoError(fmt::format("{} {} already exists and {}: name another file{}", what, path, why,
                                kind == FileKind::trace ? "" : ", or add --force"));
    }
    if (kind == FileKind::inference) check_trainable(what, path);
  }
  return add(what, path, output.replaced);
}

OutputFile CommandPaths::plan_file(const std::string& what, const std::string& path,
                                   FileKind kind) {
  return plan(what, path, kind, "");
}

void CommandPaths::plan_token_files(const std::string& what, const std::string& prefix) {
  static_cast<void>(plan_file(what, token_file_name(prefix, 0), FileKind::tokens));
  const fs::path path(prefix);
  std::vector<std::int64_t> numbers;
  std::error_code error;
  for (fs::directory_iterator it(path.has_parent_path() ? path.parent_path() : ".", error), end;
       !error && it != end; it.increment(error)) {
    const std::int64_t number =
        token_file_number(path.filename().string(), it->path().filename().string());
    if (number > 0) numbers.push_back(number);
  }
  if (error) throw IoError(fmt::format("{} {}: {}", what, prefix, error.message()));
  std::sort(numbers.begin(), numbers.end());
  for (const std::int64_t number : numbers)
    static_cast<void>(plan_file(what, token_file_name(prefix, number), FileKind::tokens));
}

OutputFile CommandPaths::plan_earlier_checkpoint(const std::string& what, const std::string& path,
                                                 const std::string& checkpoint) {
  const fs::path place = resolved(path);
  const bool named = std::any_of(files_->inputs.begin(), files_->inputs.end(),
                                 [&](const auto& input) { return resolved(input.path) == place; });
  if (named || place == resolved(checkpoint) || !same_file(path, checkpoint))
    return plan_file(what, path, FileKind::model);
  return add(what, path, checkpoint);
}

OutputFile CommandPaths::plan_resumed(const std::string& what, const std::string& path,
                                      std::string_view replaced) {
  return plan(what, path, FileKind::model, replaced);
}

OutputFile CommandPaths::plan_growing_folder(const std::string& what, const std::string& path) {
  if (!files_->checks) return add(what, path);
  refuse_input(what, path, FileKind::log, "");
  refuse_output(what, path);
  // The closest folder that exists must be writable.
  std::error_code ignored;
  fs::path existing = resolved(path);
  while (!fs::exists(existing, ignored) && existing.has_relative_path())
    existing = existing.parent_path();
  const auto refuse = [&](const std::string& why) {
    throw IoError(
        fmt::format("{}: cannot write to {}: {}: name a folder that can be created or "
                    "written",
                    what, path, why));
  };
  if (!fs::is_directory(existing, ignored)) refuse(existing.string() + " is not a folder");
  if (::access(existing.c_str(), W_OK | X_OK) != 0)
    refuse(existing.string() + ": " + std::strerror(errno));
  return add(what, path);
}

OutputFile CommandPaths::plan_folder(const std::string& what, const std::string& path) {
  if (path.empty())
    throw UsageError(fmt::format("{} is empty: it must name the folder to write", what));
  check_name(what, path, FileKind::folder);
  const OutputInspection inspection(*this);
  refuse_input(what, path, FileKind::folder, "");
  for (const PlannedFiles::Input& input : files_->inputs) {
    if (is_inside(resolved(input.path), resolved(path))) {
      throw UsageError(
          fmt::format("{} {} would replace the folder that contains {} {}, which is an input: name "
                      "another folder",
                      what, path, input.what, input.path));
    }
  }
  const PlannedFiles::Output output{what, path, true};
  for (const ReadLog::File& input : files_->read.files()) output.check(input);
  refuse_output(what, path);
  const fs::path above = resolved(path).parent_path();
  std::error_code ignored;
  if (!fs::is_directory(above, ignored))
    throw IoError(
        fmt::format("{}: cannot write {}: there is no folder {}", what, path, above.string()));
  try {
    hf::check_folder_target(path, files_->force);
    const AtomicFolder probe(path);
  } catch (const IoError& e) {
    throw IoError(fmt::format("{}: {}", what, e.what()));
  }
  files_->outputs.push_back(output);
  return OutputFile(path, files_);
}

OutputFile CommandPaths::planned(const std::string& path) const {
  for (const PlannedFiles::Output& output : files_->outputs) {
    if (output.path == path) return OutputFile(path, files_);
  }
  throw StateError(fmt::format("{} was not planned as an output file", path));
}

bool same_file(const std::string& a, const std::string& b) {
  if (resolved(a) == resolved(b)) return true;
  struct stat first = {}, second = {};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

std::string companion_path(const std::string& model, const std::string& ending) {
  const fs::path path(model);
  return path.extension() == ".weft" ? fs::path(path).replace_extension(ending).string()
                                     : model + ending;
}

std::string model_name(const std::string& model) {
  const fs::path path(model);
  return (path.extension() == ".weft" ? path.stem() : path.filename()).string();
}

void write_text(const OutputFile& file, const std::string& text) {
  AtomicFile out(file.path());
  out.write(text.data(), text.size());
  out.commit();
}

}  // namespace weft::program
