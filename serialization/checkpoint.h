// Checkpoints: graph, programs, variables and attachments in one .weft file.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/engine/variable_store.h"
#include "weft/graph/ir/program.h"
#include "weft/graph/run/session.h"

namespace WEFT_API weft {

/// Additional data stored with a model: a tokenizer, a configuration, the history of a training
/// run.
struct Attachment {
  std::string name;       // unique in the file
  std::string type = {};  // type of the contents, for example "weft.tokenizer.character"
  std::string bytes = {};
};

/// Tensors by variable name (or alias).
using TensorMap = std::map<std::string, Tensor, std::less<>>;

struct SaveOptions {
  std::vector<Attachment> attachments = {};
};

/// Writes a checkpoint of `programs` (all of one graph, before optimisation passes) and of the
/// variables that they read or update. `value` returns the tensor of each variable; caches are not
/// saved. Everything that a training run needs to resume bit-exactly is a variable of its program;
/// a file with an inference program contains no optimizer moments. The file also contains all
/// inputs of the graph, and named values that read no other variables. The file receives its name
/// only when it is complete and synced: a failure leaves an existing file unchanged, and `path` may
/// be a file from which tensors of `value` are mapped. Throws GraphError if there are no programs,
/// if they belong to several graphs or if two programs have the same name; DTypeError or ShapeError
/// if a tensor does not have the type of its variable; and IoError if the file cannot be written.
void write_checkpoint(const std::string& path, const std::vector<Program>& programs,
                      const std::function<Tensor(const VariableInfo&)>& value,
                      const SaveOptions& options = {});

/// As above, with the values of a Session. Variables that no run has used yet are initialised.
/// Captures all values atomically, between two updates, even while another thread trains. Throws
/// StateError if the store is torn.
void save_checkpoint(const std::string& path, Session& session,
                     const std::vector<Program>& programs, const SaveOptions& options = {});
/// As above, with the values of a store. Throws StateError with a list of the missing variables if
/// the store does not have all of them.
void save_checkpoint(const std::string& path, const VariableStore& store,
                     const std::vector<Program>& programs, const SaveOptions& options = {});

struct LoadOptions {
  /// map: tensors are views of the mapped file and read on first use. If the file is truncated or
  /// overwritten in place before that, the process is killed (see MappedFile). copy: all tensors
  /// are read immediately (for network disks, and for files that other processes overwrite).
  enum class Mode { map, copy };
  Mode mode = Mode::map;
  /// Also verify the checksums of tensor data. The checksums of graphs and programs are always
  /// verified.
  bool verify = false;
  /// With `verify`: skips the checksums of tensor data if they were correct before and the file has
  /// not changed since (its size, modification time, inode and index are the same). Results are
  /// recorded for the user in $XDG_CACHE_HOME/weft (default: ~/.cache/weft).
  bool once = false;
  /// The ops of the graph. To load custom ops, add them to the built-in ones.
  std::shared_ptr<const OpSet> ops = builtin_ops();
  /// Names of the programs to load. Only the nodes and variables that these programs need are
  /// loaded; for example, the inference program of a training checkpoint is loaded without the
  /// nodes and moments of the optimizer. If empty, loads all programs. It is an ArgumentError if
  /// the file has no program of a given name.
  std::vector<std::string> programs = {};
};

/// The contents of a checkpoint. Movable; Values, Programs and Variables refer to its graph.
class Checkpoint {
 public:
  Checkpoint() = default;
  /// A checkpoint that was not read from a .weft file: models of other formats.
  Checkpoint(std::shared_ptr<Graph> graph, std::vector<Program> programs, TensorMap tensors,
             std::vector<Attachment> attachments = {})
      : graph_(std::move(graph)),
        programs_(std::move(programs)),
        tensors_(std::move(tensors)),
        attachments_(std::move(attachments)) {}
  Graph& graph() const { return *graph_; }
  /// Shares ownership of the graph. Programs stay valid as long as the graph lives.
  std::shared_ptr<Graph> shared_graph() const { return graph_; }
  const std::vector<Program>& programs() const { return programs_; }
  /// Throws ArgumentError if there is no program of this name; the message lists the existing
  /// programs.
  const Program& program(std::string_view name) const;
  /// Returns true if there is a program of this name.
  bool has_program(std::string_view name) const;
  /// All saved variables, by name (not by alias).
  const TensorMap& tensors() const { return tensors_; }
  /// Returns a new store with these tensors (shared, not copied), for a Session of graph().
  std::shared_ptr<VariableStore> store() const;
  const std::vector<Attachment>& attachments() const { return attachments_; }
  /// Returns the attachment of this name, or null if there is none.
  const Attachment* find_attachment(std::string_view name) const;
  /// Throws ArgumentError if there is no attachment of this name; the message lists the existing
  /// attachments.
  const Attachment& attachment(std::string_view name) const;
  /// Name and version of the software that wrote the file.
  const std::string& producer() const { return producer_; }
  /// Returns true if the file was loaded with LoadOptions::verify and all its parameters and
  /// optimizer variables are known to be finite. The search is part of the pass over the checksums.
  bool is_finite() const { return finite_; }

 private:
  friend Checkpoint load_checkpoint(const std::string& path, const LoadOptions& options);
  std::shared_ptr<Graph> graph_;
  std::vector<Program> programs_;
  TensorMap tensors_;
  std::vector<Attachment> attachments_;
  std::string producer_;
  bool finite_ = false;
};

/// Reads a checkpoint. Throws FormatError with path and byte offset for any defect in the file:
/// truncation, a damaged record, an unknown op, version or dtype. Throws IoError if the file cannot
/// be opened.
Checkpoint load_checkpoint(const std::string& path, const LoadOptions& options = {});

/// Writes a new checkpoint with only those parts of the graph and those variables that the named
/// programs need, and with the attachments whose names match a shell-style pattern (* and ?). For
/// example, turns a training checkpoint into an inference file:
///   extract_checkpoint("training.weft", "model.weft", {"predict"}, {"model.*"});
/// `from` and `to` may be the same file. Throws the errors of load_checkpoint() and
/// write_checkpoint(), and ArgumentError if a program is unknown or a pattern matches no
/// attachment.
void extract_checkpoint(const std::string& from, const std::string& to,
                        const std::vector<std::string>& programs,
                        const std::vector<std::string>& attachments = {},
                        const LoadOptions& options = {});

/// Verifies the structure and all checksums of a file, and that it can be loaded. Throws
/// FormatError with the byte offset of the first defect.
void verify_file(const std::string& path, std::shared_ptr<const OpSet> ops = builtin_ops());

/// A variable as a file declares it.
struct SavedVariable {
  std::string name;
  VariableKind kind = VariableKind::parameter;
  bool trainable = true;
  std::string type;  // "f32[64, seq]"
  std::vector<std::string> aliases;
  Tensor value;  // a view of the mapped file; undefined for caches
};
/// Returns the variables of a file without reading its graph, which may therefore contain unknown
/// ops. Apart from that, throws the same errors as load_checkpoint().
std::vector<SavedVariable> saved_variables(const std::string& path);

/// Returns true if the file starts with the magic number of .weft files. Throws IoError if it
/// cannot be opened.
bool is_weft_file(const std::string& path);

}  // namespace weft
