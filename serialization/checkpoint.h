// Checkpoints: graph, programs, variables and attachments in one .weft file.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/ir/program.h"
#include "weft/graph/run/session.h"
#include "weft/graph/run/variable_store.h"

namespace WEFT_API weft {

/// Something that travels with a model: a tokenizer, a configuration, the history of a training.
struct Attachment {
  std::string name;       // unique in the file
  std::string type = {};  // what the bytes are, for example "weft.tokenizer.character"
  std::string bytes = {};
};

/// Tensors by variable name (or alias).
using TensorMap = std::map<std::string, Tensor, std::less<>>;

struct SaveOptions {
  std::vector<Attachment> attachments = {};
};

/// Writes a checkpoint of `programs` (all over one graph, before passes) and of the variables that
/// they read or update: `value` gives the tensor of each (except caches, which are not saved).
/// Everything that a training needs to go on with the same bits is a variable of its program; a
/// file with a program that only infers holds no optimizer's moments. All inputs of the graph are
/// in the file, and named values that read no other variables. The file takes its name only when it
/// is complete and synced; a failure leaves an old file as it was, and the file that `value` maps
/// may be overwritten. Throws GraphError (no programs, or several graphs, or two programs of one
/// name), DTypeError and ShapeError (a tensor that does not fit its variable), IoError.
void write_checkpoint(const std::string& path, const std::vector<Program>& programs,
                      const std::function<Tensor(const VariableInfo&)>& value,
                      const SaveOptions& options = {});

/// The same with the values of a Session (variables that no run has used yet start now) ...
void save_checkpoint(const std::string& path, Session& session,
                     const std::vector<Program>& programs, const SaveOptions& options = {});
/// ... or of a store, which must have all those variables (StateError that lists the missing). Both
/// take all values at one moment, between two updates, also while another thread trains. Throws
/// StateError if the store is torn.
void save_checkpoint(const std::string& path, const VariableStore& store,
                     const std::vector<Program>& programs, const SaveOptions& options = {});

struct LoadOptions {
  /// map: tensors are views of the mapped file, read when they are first used; a file that is cut
  /// or overwritten in place until then ends the process (see MappedFile). copy: everything is read
  /// now (for network disks, and for files that others overwrite).
  enum class Mode { map, copy };
  Mode mode = Mode::map;
  /// Also checks the checksums of tensor data (those of graphs and programs are always checked).
  bool verify = false;
  /// What the graph's ops are looked up in: add your own to the built-in ones.
  std::shared_ptr<const OpSet> ops = builtin_ops();
  /// Names of the programs to load, with what they need and nothing else: of a training's file, the
  /// one that infers comes without the optimizer's nodes and moments. Empty: all. A name that the
  /// file lacks is an ArgumentError.
  std::vector<std::string> programs = {};
};

/// What a file holds. Movable; Values, Programs and Variables refer to its graph.
class Checkpoint {
 public:
  Graph& graph() const { return *graph_; }
  /// Hands the graph over; programs stay valid as long as it lives.
  std::shared_ptr<Graph> shared_graph() const { return graph_; }
  const std::vector<Program>& programs() const { return programs_; }
  /// Throws ArgumentError that lists the programs there are.
  const Program& program(std::string_view name) const;
  /// Whether there is a program of this name.
  bool has_program(std::string_view name) const;
  /// All saved variables, by name (not by alias).
  const TensorMap& tensors() const { return tensors_; }
  /// A new store with these tensors (shared, not copied): give it to a Session over graph().
  std::shared_ptr<VariableStore> store() const;
  const std::vector<Attachment>& attachments() const { return attachments_; }
  /// Null if there is none of this name.
  const Attachment* find_attachment(std::string_view name) const;
  /// Throws ArgumentError that lists the attachments there are.
  const Attachment& attachment(std::string_view name) const;
  /// The program that wrote the file.
  const std::string& producer() const { return producer_; }

 private:
  friend Checkpoint load_checkpoint(const std::string& path, const LoadOptions& options);
  std::shared_ptr<Graph> graph_;
  std::vector<Program> programs_;
  TensorMap tensors_;
  std::vector<Attachment> attachments_;
  std::string producer_;
};

/// Reads a checkpoint. Whatever is wrong with the file is a FormatError with path and byte offset:
/// a cut file, a damaged record, an op, version or dtype that this program does not know. IoError
/// if it cannot be opened.
Checkpoint load_checkpoint(const std::string& path, const LoadOptions& options = {});

/// Writes what the programs of these names need of a checkpoint, and nothing else, as a file of its
/// own: graph, variables, and the attachments whose names fit a pattern (with * and ? as in a
/// shell). A training's file becomes one that infers:
///   extract("training.weft", "model.weft", {"predict"}, {"model.*"});
/// `from` and `to` may be one file. Throws as load_checkpoint and write_checkpoint, and
/// ArgumentError for a program that is not there and a pattern that no attachment fits.
void extract(const std::string& from, const std::string& to,
             const std::vector<std::string>& programs,
             const std::vector<std::string>& attachments = {}, const LoadOptions& options = {});

/// Checks the structure and every checksum of a file, and that it loads. Throws FormatError with
/// the byte offset of the first damage.
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
/// The variables of a file whose graph need not be one that this program can read (as with ops that
/// it does not know). Throws as load_checkpoint for the rest of the file.
std::vector<SavedVariable> saved_variables(const std::string& path);

/// True if the file starts like a .weft file; IoError if it cannot be opened.
bool is_weft_file(const std::string& path);

}  // namespace weft
