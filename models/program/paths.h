// The files of a command: the files it reads, and the files it may write. A command plans all its
// output files, including plots and companion files, before any work, and writes no other files.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace weft::program {

/// Kinds of output files. An existing file is replaced only by a file of its own kind.
enum class FileKind {
  model,      // .weft, trainable or not
  inference,  // .weft that cannot be trained; replaces a trainable one only with --force
  plot,       // .svg, as drawn by Weft
  tensors,    // .safetensors
  array,      // .npy
  adapters,   // .safetensors, as written by save_lora
  log,        // .jsonl, as written by LogFile
  tokenizer,  // tokenizer.json
  tokens,     // .tok, as written by weft data
  folder,     // a model in Hugging Face layout; only for plan_folder()
  vectors,    // word embeddings in a word2vec format, with any other extension
};

/// A file or folder that may be written. Only CommandPaths creates one.
class OutputFile {
 public:
  const std::string& path() const { return path_; }

 private:
  friend class CommandPaths;
  explicit OutputFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// Plans the output files of a command, and checks that they replace neither its inputs nor one
/// another nor files of other kinds.
class CommandPaths {
 public:
  CommandPaths() = default;
  /// Takes the values of all options of type FILE (OptionList::input) as the inputs. `force`: files
  /// of another kind may be replaced, too.
  explicit CommandPaths(const CLI::App& command, bool force = false);

  /// Plans files without checking them from now on: for ranks that write none, and whose machine
  /// may have other files.
  void leave_to_first_rank() { checks_ = false; }

  /// Plans a file. `what` names it in messages: "--out", "the loss curve". Checking that it can be
  /// written leaves no file behind.
  ///
  /// Throws UsageError if the path is a file that the command reads (by any name: a link, another
  /// path), if it is inside an input folder and is not the command's own kind of file there, if it
  /// is another output, or if its name is that of another kind of file. Throws IoError if it is a
  /// folder, a device or a pipe, is write-protected, has no parent folder, or cannot be created
  /// there; if a file of another kind exists there; or if a trainable model would be replaced by
  /// one that cannot be trained.
  OutputFile plan_file(const std::string& what, const std::string& path, FileKind kind);
  /// As above, for all existing files of a set of token files (token_file_name). How many will be
  /// written is known only at the end.
  void plan_token_files(const std::string& what, const std::string& prefix);
  /// As plan_file(), for an earlier checkpoint of the run that writes `checkpoint`. A file that is
  /// only another name of `checkpoint` was left by an interrupted save, and is accepted.
  OutputFile plan_earlier_checkpoint(const std::string& what, const std::string& path,
                                     const std::string& checkpoint);
  /// As plan_file(), for the model of a resumed run: the file that the option `replaced` reads may
  /// be replaced by the next state of the run.
  OutputFile plan_resumed(const std::string& what, const std::string& path,
                          std::string_view replaced);

  /// Plans a folder for a model. Throws as plan_file() and hf::check_folder_target(), and
  /// UsageError if the command reads anything in the folder.
  OutputFile plan_folder(const std::string& what, const std::string& path);

  /// Returns the file that was planned under this path. Throws StateError if there is none.
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

/// Returns true if both paths lead to the same file: the same location, a link to it, or another
/// name of the same file.
bool same_file(const std::string& a, const std::string& b);

/// Returns the path of a companion file of a model: "net.weft" and ".svg" give "net.svg". A name
/// that does not end in .weft keeps its ending, so that "net.v1" and "net.v2" have separate plots.
std::string companion_path(const std::string& model, const std::string& ending);
/// Returns the file name of a model without ".weft", for titles.
std::string model_name(const std::string& model);

/// Replaces a text file as a whole or not at all. Throws IoError.
void write_text(const OutputFile& file, const std::string& text);

}  // namespace weft::program
