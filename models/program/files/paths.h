// The input and output files of a command. A command plans all its output files, including plots
// and companion files, before it starts any work. It writes no other files.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "weft/models/program/files/file_kind.h"

namespace CLI {
class App;
}  // namespace CLI

namespace weft::program {

/// The inputs and the planned outputs of a command, and a record of the files that it has read.
struct PlannedFiles;

/// A file or folder that may be written. Only CommandPaths creates objects of this type.
class OutputFile {
 public:
  /// Returns the path for writing. The first call ends the reading of inputs: it throws the same
  /// errors as CommandPaths::check_inputs().
  const std::string& path() const;

 private:
  friend class CommandPaths;
  OutputFile(std::string path, std::shared_ptr<PlannedFiles> files)
      : path_(std::move(path)), files_(std::move(files)) {}
  std::string path_;
  std::shared_ptr<PlannedFiles> files_;
};

/// Plans the output files of a command. Checks that no output replaces an input, another output, or
/// an existing file of another type. Copies share their plan.
///
/// Inputs are the files that the command line names, and all files that are read while the plan
/// exists (ReadLog): shards, tokenizers, the targets of links. The files that are named are
/// checked when an output is planned, and the others when all inputs have been read.
class CommandPaths {
 public:
  CommandPaths();
  /// The named inputs are the values of all options of type FILE (OptionList::input). If `force` is
  /// true, existing files of another type may be replaced as well.
  explicit CommandPaths(const CLI::App& command, bool force = false);

  /// Disables the checks for all files that are planned afterwards. Used on ranks that write no
  /// files, because their machine may hold different files.
  void leave_to_first_rank();

  /// Plans a file. `what` is its name in messages, such as "--out" or "the loss curve". Checks that
  /// the file can be written, without leaving a file behind.
  ///
  /// Throws UsageError if the path is a file that the command reads (possibly through a link or
  /// under a different path) or has already read, if it is inside an input folder (except for
  /// models and plots), if it is the same file as another output, or if its extension belongs to
  /// another file type. Throws IoError if the path is a folder, a device or a pipe, is
  /// write-protected, has no parent folder, or cannot be created; if another training run writes
  /// it; if it is an existing file of another type or a part of something larger (a shard); or if
  /// it is a trainable model that would be replaced by one that cannot be trained.
  OutputFile plan_file(const std::string& what, const std::string& path, FileKind kind);
  /// As above, for the first file and all existing files of a set of token files
  /// (token_file_name()). The number of files that will be written is known only at the end.
  void plan_token_files(const std::string& what, const std::string& prefix);
  /// Like plan_file(), for an earlier checkpoint of the run that writes `checkpoint`. If the file
  /// is a hard link to `checkpoint`, it was left by an interrupted save and is accepted.
  OutputFile plan_earlier_checkpoint(const std::string& what, const std::string& path,
                                     const std::string& checkpoint);
  /// Like plan_file(), for the model of a resumed run. The input file of the option `replaced` may
  /// be replaced by a later state of the run.
  OutputFile plan_resumed(const std::string& what, const std::string& path,
                          std::string_view replaced);

  /// Plans a folder to which files with new names will be added. It is created when the first file
  /// is written. Throws UsageError if the path is an input or inside an input folder, and IoError
  /// if it is not a folder, or cannot be created or written.
  OutputFile plan_growing_folder(const std::string& what, const std::string& path);

  /// Plans a folder for a model. Throws the same errors as plan_file() and
  /// hf::check_folder_target(). Throws UsageError if the command reads any file in the folder.
  OutputFile plan_folder(const std::string& what, const std::string& path);

  /// Returns the planned file with this path. Throws StateError if there is none.
  OutputFile planned(const std::string& path) const;

  /// Throws UsageError if a planned output is a file that has been read since the plan was created,
  /// or a folder that contains such a file. Files that are read afterwards do not count as inputs.
  /// Commands that work for long after reading their inputs call this function before that work.
  void check_inputs() const;

 private:
  friend class OutputInspection;
  OutputFile plan(const std::string& what, const std::string& path, FileKind kind,
                  std::string_view replaced);
  OutputFile add(const std::string& what, const std::string& path,
                 const std::string& replaced = {}) const;
  void refuse_output(const std::string& what, const std::string& path) const;
  void refuse_input(const std::string& what, const std::string& path, FileKind kind,
                    std::string_view excluded) const;

  std::shared_ptr<PlannedFiles> files_;
};

/// While this object exists, the files that are read do not count as inputs: the command inspects
/// existing output files.
class OutputInspection {
 public:
  explicit OutputInspection(const CommandPaths& paths);
  ~OutputInspection();
  OutputInspection(const OutputInspection&) = delete;
  OutputInspection& operator=(const OutputInspection&) = delete;

 private:
  std::shared_ptr<PlannedFiles> files_;
};

/// Returns true if both paths refer to the same file, including through symbolic or hard
/// links.
bool same_file(const std::string& a, const std::string& b);

/// Returns the path of a companion file of a model. For example, "net.weft" and ".svg" result in
/// "net.svg". A name that does not end in .weft keeps its extension, so that "net.v1" and "net.v2"
/// have separate plots.
std::string companion_path(const std::string& model, const std::string& ending);
/// Returns the file name of a model without ".weft", for titles.
std::string model_name(const std::string& model);

/// Replaces a text file atomically. Throws IoError.
void write_text(const OutputFile& file, const std::string& text);

}  // namespace weft::program
