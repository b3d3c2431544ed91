// Files and commands that the attacks use.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "program.h"
#include "report.h"

namespace weft::attack {

/// The type of a file determines how it is damaged and how its checksums are corrected.
enum class Kind { weft, safetensors, json, image, text, binary };

/// A command that reads a file. The argument "{}" is replaced by the path of the file.
struct Reader {
  std::string name;  // name of the file
  Kind kind;
  Arguments arguments;
};

/// A training run for one task that finishes within a second and saves after every step.
struct Task {
  std::string name;
  Arguments arguments;  // without --out
};

/// A folder with a tiny model for every task, trained by the program itself, and with texts,
/// images, tables, adapters and Hugging Face folders.
class Workspace {
 public:
  /// Creates the files. Throws std::runtime_error if a command of the program fails.
  Workspace(const std::string& program, const std::string& goldens, const std::string& folder,
            bool sanitized);

  const Program& program() const { return program_; }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  const std::vector<Task>& tasks() const { return tasks_; }
  const std::vector<Reader>& readers() const { return readers_; }

  std::string read(const std::string& name) const;
  void write(const std::string& name, const std::string& bytes) const;
  /// Returns the arguments of a reader with "{}" replaced by `path`.
  static Arguments substitute_path(const Arguments& arguments, const std::string& path);
  /// Returns the names of the temporary files that exist in the folder.
  std::vector<std::string> temporaries() const;

 private:
  void write_data() const;
  void shard(const std::string& from, const std::string& to) const;
  void add_tokenizer(const std::string& to) const;
  void train();
  void list_readers();
  void run_or_throw(const Arguments& arguments) const;

  std::filesystem::path folder_;
  Program program_;
  std::vector<Task> tasks_;
  std::vector<Reader> readers_;
};

}  // namespace weft::attack
