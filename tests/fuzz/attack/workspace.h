// The files and commands that the attacks start from.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "program.h"
#include "report.h"

namespace weft::attack {

/// What a file is, for how it is damaged and mended.
enum class Kind { weft, safetensors, json, image, text, binary };

/// A command that reads a file: "{}" among the arguments is its path.
struct Reader {
  std::string name;  // of the file
  Kind kind;
  Arguments arguments;
};

/// A training of one task that ends within a second and saves at every step.
struct Task {
  std::string name;
  Arguments arguments;  // without --out
};

/// A folder with a tiny model of every task, made by the program itself, texts, images, tables,
/// adapters, and a Hugging Face folder.
class Workspace {
 public:
  /// Throws std::runtime_error where the program cannot make them.
  Workspace(const std::string& program, const std::string& goldens, const std::string& folder,
            bool sanitized);

  const Program& program() const { return program_; }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  const std::vector<Task>& tasks() const { return tasks_; }
  const std::vector<Reader>& readers() const { return readers_; }

  std::string read(const std::string& name) const;
  void write(const std::string& name, const std::string& bytes) const;
  /// Arguments of a reader whose file is `path`.
  static Arguments with(const Arguments& arguments, const std::string& path);
  /// Names of temporary files that are there.
  std::vector<std::string> temporaries() const;

 private:
  void write_data() const;
  void shard(const std::string& from, const std::string& to) const;
  void add_tokenizer(const std::string& to) const;
  void train();
  void list_readers();
  void must(const Arguments& arguments) const;

  std::filesystem::path folder_;
  Program program_;
  std::vector<Task> tasks_;
  std::vector<Reader> readers_;
};

}  // namespace weft::attack
