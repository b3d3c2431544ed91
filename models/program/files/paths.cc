#include "weft/models/program/files/paths.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "weft/core/error.h"
#include "weft/models/hf/adapters/adapter_folder.h"
#include "weft/models/hf/folder_target.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/text/tokens/token_set.h"
#include "weft/models/text/tokens/token_sources.h"
#include "weft/models/training/lora_file.h"
#include "weft/models/vectors/word2vec_file.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/files/atomic_file.h"
#include "weft/serialization/files/atomic_folder.h"
#include "weft/serialization/npy.h"

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

std::string first_bytes(const std::string& path) {
  std::string bytes(512, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return bytes;
}

/// Returns true if the bytes begin like the output of svg_line_plot() or svg_heat_maps().
bool is_our_plot(const std::string& bytes) {
  return bytes.starts_with(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 )") &&
         bytes.find(R"(font-family="system-ui, sans-serif" font-size=")") != std::string::npos;
}

/// Returns true if the bytes begin like a tokenizer.json written by Hugging Face's library or Weft.
bool is_tokenizer(const std::string& bytes) {
  return bytes.starts_with('{') && bytes.find("\"version\"") < bytes.find("\"truncation\"") &&
         bytes.find("\"truncation\"") != std::string::npos;
}

/// Returns true if the file begins with an 8-byte length that does not exceed the file size,
/// followed by a JSON object.
bool is_safetensors(const std::string& path, const std::string& bytes) {
  constexpr std::size_t kLengthBytes = 8;
  if (bytes.size() <= kLengthBytes || bytes[kLengthBytes] != '{') return false;
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return !error && length <= size - kLengthBytes;
}

bool holds_adapters(const std::string& path) {
  try {
    load_lora(path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Returns true if the existing file is of type `kind`. Also returns true if the file is empty,
/// because replacing an empty file destroys no data.
bool is_of_kind(const std::string& path, FileKind kind) {
  std::error_code error;
  if (fs::file_size(path, error) == 0 && !error) return true;
  const std::string bytes = first_bytes(path);
  switch (kind) {
    case FileKind::model:
    case FileKind::inference: return is_weft_file(path);
    case FileKind::plot: return is_our_plot(bytes);
    case FileKind::tensors: return is_safetensors(path, bytes) && !holds_adapters(path);
    case FileKind::array: return bytes.starts_with(kNpyMagic);
    case FileKind::adapters: return is_safetensors(path, bytes) && holds_adapters(path);
    case FileKind::log: return bytes.starts_with(R"({"event":"start","task":)");
    case FileKind::tokenizer: return is_tokenizer(bytes);
    case FileKind::tokens: return is_token_file(path);
    case FileKind::folder: return false;
    case FileKind::vectors: return is_word_vectors(path);
  }
  return false;
}

/// Returns the path of the base model that an adapter folder names, or "" if there is none.
std::string base_of_adapters(const std::string& path) {
  if (!hf::is_adapter_folder(path)) return {};
  try {
    return hf::read_adapter_folder(path).base();
  } catch (const Error&) {
    return {};  // reported when the command reads the folder
  }
}

bool is_model(FileKind kind) { return kind == FileKind::model || kind == FileKind::inference; }

const char* kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::model:
    case FileKind::inference: return "a .weft file";
    case FileKind::plot: return "a plot drawn by weft";
    case FileKind::tensors: return "a safetensors file without adapters";
    case FileKind::array: return "a NumPy array";
    case FileKind::adapters: return "an adapter file";
    case FileKind::log: return "a training log";
    case FileKind::tokenizer: return "a tokenizer.json";
    case FileKind::tokens: return "a token file";
    case FileKind::folder: return "a folder";
    case FileKind::vectors: return "a file of word embeddings";
  }
  return "";
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

/// Checks that the extension fits the contents. For example, a model must not have the extension of
/// a plot or of data.
void check_name(const std::string& what, const std::string& path, FileKind kind) {
  const std::string ending = fs::path(path).extension().string();
  constexpr std::array<std::string_view, 7> kEndings = {".weft",  ".svg", ".safetensors", ".json",
                                                        ".jsonl", ".tok", ".npy"};
  const std::string_view own = is_model(kind)                ? ".weft"
                               : kind == FileKind::plot      ? ".svg"
                               : kind == FileKind::log       ? ".jsonl"
                               : kind == FileKind::tokens    ? ".tok"
                               : kind == FileKind::array     ? ".npy"
                               : kind == FileKind::tokenizer ? ".json"
                               : kind == FileKind::folder    ? "/"
                               : kind == FileKind::vectors   ? ""
                                                             : ".safetensors";
  if (ending != own && std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end()) {
    throw UsageError(fmt::format("{} {} is {}: its name should not end in {}", what, path,
                                 kind_name(kind), ending));
  }
}

}  // namespace

CommandPaths::CommandPaths(const CLI::App& command, bool force) : force_(force) {
  for (const GivenOption& option : given_options(command)) {
    if (option.type != kInputType) continue;
    for (const std::string& value : option.values) {
      inputs_.push_back({option.name, path_of(value)});
      // An adapter folder names its base model, which is read as well.
      if (const std::string base = base_of_adapters(path_of(value)); !base.empty())
        inputs_.push_back({"the base model of " + option.name, base});
    }
  }
}

void CommandPaths::refuse_input(const std::string& what, const std::string& path, FileKind kind,
                                std::string_view excluded) const {
  for (const Entry& input : inputs_) {
    if (input.what == excluded) continue;
    if (same_file(path, input.path)) {
      throw UsageError(
          fmt::format("{} {} would replace {} {}, which is an input: name another file", what, path,
                      input.what, input.path));
    }
    std::error_code ignored;
    if (!fs::is_directory(input.path, ignored) || !is_inside(resolved(path), resolved(input.path)))
      continue;
    // A training run may write its own files into its data folder, because they are never read as
    // data.
    const bool own = is_model(kind) || kind == FileKind::plot;
    if (!own || (fs::exists(path, ignored) && !is_of_kind(path, kind))) {
      throw UsageError(
          fmt::format("{} {} is inside {} {}, which is an input: name a file elsewhere", what, path,
                      input.what, input.path));
    }
  }
}

void CommandPaths::refuse_output(const std::string& what, const std::string& path) const {
  for (const Entry& output : outputs_) {
    if (same_file(path, output.path)) {
      throw UsageError(fmt::format("{} {} and {} {} are the same file: give them different names",
                                   what, path, output.what, output.path));
    }
  }
}

OutputFile CommandPaths::plan(const std::string& what, const std::string& path, FileKind kind,
                              std::string_view replaced) {
  if (!checks_) {
    outputs_.push_back({what, path});
    return OutputFile(path);
  }
  if (path.empty())
    throw UsageError(fmt::format("{} is empty: it must name the file to write", what));
  check_name(what, path, kind);
  refuse_input(what, path, kind, replaced);
  refuse_output(what, path);
  check_place(what, path);
  try {
    // Creates a temporary file next to `path` and removes it again, so that a later write cannot
    // fail because of missing permissions.
    const AtomicFile probe(path);
  } catch (const IoError& e) {
    throw IoError(fmt::format("{}: {}", what, e.what()));
  }
  std::error_code ignored;
  if (!force_ && fs::exists(path, ignored) && !is_of_kind(path, kind)) {
    throw IoError(
        fmt::format("{} {} already exists and is not {}: name another file, or add --force", what,
                    path, kind_name(kind)));
  }
  if (!force_ && kind == FileKind::inference) check_trainable(what, path);
  outputs_.push_back({what, path});
  return OutputFile(path);
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
  const bool named = std::any_of(inputs_.begin(), inputs_.end(),
                                 [&](const Entry& input) { return resolved(input.path) == place; });
  if (named || place == resolved(checkpoint) || !same_file(path, checkpoint))
    return plan_file(what, path, FileKind::model);
  outputs_.push_back({what, path});
  return OutputFile(path);
}

OutputFile CommandPaths::plan_resumed(const std::string& what, const std::string& path,
                                      std::string_view replaced) {
  return plan(what, path, FileKind::model, replaced);
}

OutputFile CommandPaths::plan_folder(const std::string& what, const std::string& path) {
  if (path.empty())
    throw UsageError(fmt::format("{} is empty: it must name the folder to write", what));
  check_name(what, path, FileKind::folder);
  refuse_input(what, path, FileKind::folder, "");
  for (const Entry& input : inputs_) {
    if (is_inside(resolved(input.path), resolved(path))) {
      throw UsageError(
          fmt::format("{} {} would replace the folder that contains {} {}, which is an input: name "
                      "another folder",
                      what, path, input.what, input.path));
    }
  }
  refuse_output(what, path);
  const fs::path above = resolved(path).parent_path();
  std::error_code ignored;
  if (!fs::is_directory(above, ignored))
    throw IoError(
        fmt::format("{}: cannot write {}: there is no folder {}", what, path, above.string()));
  try {
    hf::check_folder_target(path, force_);
    const AtomicFolder probe(path);
  } catch (const IoError& e) {
    throw IoError(fmt::format("{}: {}", what, e.what()));
  }
  outputs_.push_back({what, path});
  return OutputFile(path);
}

OutputFile CommandPaths::planned(const std::string& path) const {
  for (const Entry& output : outputs_) {
    if (output.path == path) return OutputFile(path);
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
