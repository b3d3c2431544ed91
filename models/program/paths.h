// The files of a command: what it reads, and what it may write. A command plans all that it will
// write, plots and companions included, before any work, and writes nothing else.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace weft::program {

/// What an output is. A file that is there already is only replaced by one of its kind.
enum class FileKind {
  model,      // .weft, whether it can be trained or not
  inference,  // .weft that cannot be trained, or else --force: what can be is worth more
  plot,       // .svg, as Weft draws them
  tensors,    // .safetensors
  array,      // .npy
  adapters,   // .safetensors, as save_lora writes them
  log,        // .jsonl, as LogFile writes it
  tokenizer,  // tokenizer.json
  tokens,     // .tok, as weft data writes them
  folder,     // of a model, as Hugging Face's library has it: for writes_folder() alone
  vectors,    // of words, as word2vec writes them, under any other name
};

/// A file, or a folder, that may be written: only CommandPaths makes one.
class OutputFile {
 public:
  const std::string& path() const { return path_; }

 private:
  friend class CommandPaths;
  explicit OutputFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

class CommandPaths {
 public:
  CommandPaths() = default;
  /// Takes over the values of all options of type FILE (OptionList::input) as what is read.
  /// `force`: files of another kind may be replaced, too.
  explicit CommandPaths(const CLI::App& command, bool force = false);

  /// From now on files are planned as they are named, without a look at them: for ranks that write
  /// none, whose machine may have other files.
  void leave_to_first_rank() { looks_ = false; }

  /// Plans a file. `what` names it in messages: "--out", "the loss curve". Nothing stays behind of
  /// the look at whether it can be written.
  ///
  /// Throws UsageError where it is a file that the command reads (by whatever name: a link, another
  /// path), lies inside a folder that is read and is not the command's own kind of file there, or
  /// is another output; where its name is that of another kind of file. IoError where it is a
  /// folder, a device or a pipe, is write-protected, has no folder, or cannot be made there; where
  /// there is a file of another kind, or a model that can be trained where none is written.
  OutputFile writes(const std::string& what, const std::string& path, FileKind kind);
  /// The same for all files of a set of token files (token_file_name) that are there already: how
  /// many will be written is known at its end.
  void writes_tokens(const std::string& what, const std::string& prefix);
  /// The same for an earlier checkpoint of the run that writes `checkpoint`. One that is but
  /// another name of that file was left by a save that did not end.
  OutputFile writes_earlier(const std::string& what, const std::string& path,
                            const std::string& checkpoint);
  /// The same for a model whose run goes on: the file that the option `replaced` reads may be
  /// replaced by its next state.
  OutputFile continues(const std::string& what, const std::string& path, std::string_view replaced);

  /// Plans a folder for a model. Throws as writes(), and as hf::check_folder_place(); UsageError
  /// where the command reads something in it.
  OutputFile writes_folder(const std::string& what, const std::string& path);

  /// The file that was planned under this path; StateError where none was.
  OutputFile planned(const std::string& path) const;

 private:
  struct Entry {
    std::string what, path;
  };
  OutputFile plan(const std::string& what, const std::string& path, FileKind kind,
                  std::string_view replaced);
  void refuse_output(const std::string& what, const std::string& path) const;
  void refuse_input(const std::string& what, const std::string& path, FileKind kind,
                    std::string_view besides) const;

  bool force_ = false, looks_ = true;
  std::vector<Entry> inputs_, outputs_;
};

/// Whether both are one file: the same place, a link to it, or another name of the same file.
bool same_file(const std::string& a, const std::string& b);

/// A file's name beside a model: "net.weft" and ".svg" make "net.svg"; a name that does not end in
/// .weft keeps its ending, so that "net.v1" and "net.v2" have plots of their own.
std::string beside(const std::string& model, const std::string& ending);
/// The model's name without ".weft": for titles.
std::string model_name(const std::string& model);

/// Replaces a text file as a whole. IoError.
void write_text(const OutputFile& file, const std::string& text);

}  // namespace weft::program
