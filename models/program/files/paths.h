// The input and output files of a command. A command plans all its output files, including plots
// and companion files, before it starts any work. It writes no other files.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace weft::program {

/// Types of output files. An existing file is replaced only by a file of the same type.
enum class FileKind {
  model,      // .weft, trainable or not
  inference,  // .weft that cannot be trained; replaces a trainable one only with --force
  plot,       // .svg, as drawn by Weft
  tensors,    // .safetensors
  array,      // .npy
  adapters,   // .safetensors, as written by save_lora()
  log,        // .jsonl, as written by LogFile
  tokenizer,  // tokenizer.json
  tokens,     // .tok, as written by weft data
  folder,     // a model in Hugging Face layout; only for plan_folder()
  vectors,    // word embeddings in word2vec's text or binary format, with any other extension
};

/// A file or folder that may be written. Only CommandPaths creates objects of this type.
class OutputFile {
 public:
  const std::string& path() const { return path_; }

 private:
  friend class CommandPaths;
  explicit OutputFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Plans the output files of a command. Checks that no output replaces an input, another output, or
/// an existing file of another type.
class CommandPaths {
 public:
  CommandPaths() = default;
  /// The inputs are the values of all options of type FILE (OptionList::input). If `force` is true,
  /// existing files of another type may be replaced as well.
  explicit CommandPaths(const CLI::App& command, bool force = false);

  /// Disables the checks for all files that are planned afterwards. Used on ranks that write no
  /// files, because their machine may hold different files.
  void leave_to_first_rank() { checks_ = false; }

  /// Plans a file. `what` is its name in messages, such as "--out" or "the loss curve". Checks that
  /// the file can be written, without leaving a file behind.
  ///
  /// Throws UsageError if the path is a file that the command reads (possibly through a link or
  /// under a different path), if it is inside an input folder (except for models and plots), if it
  /// is the same file as another output, or if its extension belongs to another file type. Throws
  /// IoError if the path is a folder, a device or a pipe, is write-protected, has no parent folder,
  /// or cannot be created; if it is an existing file of another type; or if it is a trainable model
  /// that would be replaced by one that cannot be trained.
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

  /// Plans a folder for a model. Throws the same errors as plan_file() and
  /// hf::check_folder_target(). Throws UsageError if the command reads any file in the folder.
  OutputFile plan_folder(const std::string& what, const std::string& path);

  /// Returns the planned file with this path. Throws StateError if there is none.
  OutputFile planned(const std::string& path) const;

 private:
  struct Entry {
    std::string what, path;
  };
  OutputFile plan(const std::string& what, const std::string& path, FileKind kind,
                  std::string_view replaced);
  void refuse_output(const std::string& what, const std::string& path) const;
  void refuse_input(const std::string& what, const std::string& path, FileKind kind,
                    std::string_view excluded) const;

  bool force_ = false, checks_ = true;
  std::vector<Entry> inputs_, outputs_;
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
