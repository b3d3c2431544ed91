// The tensors of variables: shared by Sessions, many of which may read while one writes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/core/tensor.h"
#include "weft/graph/ir/variable.h"
#include "weft/graph/run/coming_values.h"
#include "weft/graph/run/packed_weights.h"

namespace WEFT_API weft {

class Graph;

/// Fills `value` with the start value of a variable: a function of its initialiser, dtype, sizes,
/// name and `seed` only. Element i draws from word i of a Philox stream keyed by stable_hash(name,
/// seed), in double, then rounds to the dtype. A key becomes {stable_hash(name, seed), 0}. Throws
/// ArgumentError where the initialiser does not suit the dtype or its parameters make no sense.
void fill_initial_value(const VariableInfo& info, std::uint64_t seed, Workers& workers,
                        Tensor& value);

/// Named tensors with a kind and a version each. Thread-safe. Tensors handed out are snapshots that
/// cannot be written: an update of a variable whose tensor somebody else holds (or whose memory is
/// read-only, as that of a mapped file) writes to fresh memory. Values change through set() and
/// through runs alone. Who reads a parameter that other ranks are still sending
/// (SessionOptions::overlap) waits for it: tensor(), snapshot(), check_whole() and runs can throw a
/// WorldError.
class VariableStore {
 public:
  VariableStore() = default;
  VariableStore(const VariableStore&) = delete;
  VariableStore& operator=(const VariableStore&) = delete;

  /// Whether there is a variable of this name.
  bool contains(std::string_view name) const;
  /// All names in order of creation.
  std::vector<std::string> names() const;
  /// Throws GraphError that lists what is there, here and below, for an unknown name.
  VariableKind kind(std::string_view name) const;
  /// How often the value was set or updated.
  std::uint64_t version(std::string_view name) const;
  /// A snapshot. Throws StateError if the store is torn.
  Tensor tensor(std::string_view name) const;
  /// All variables as they are between two updates: what a saver writes while others train.
  std::map<std::string, Tensor, std::less<>> snapshot() const;
  /// Adds a variable (a loaded one, say). Read-only memory and a tensor that nobody else holds
  /// (moved in) are taken as they are, anything else is copied. Throws StateError if the name is
  /// taken.
  void insert(std::string_view name, VariableKind kind, Tensor value);
  /// Replaces the value, copied as by insert(); dtype and sizes must stay (DTypeError, ShapeError).
  void set(std::string_view name, Tensor value);
  /// A variable to be inserted or set.
  struct NewValue {
    std::string name;
    VariableKind kind = {};
    Tensor value = {};
  };
  /// Inserts those that are not there and sets the others, all at one moment or, where one does not
  /// fit (as by set()), none. Throws StateError if the store is torn.
  void assign(std::vector<NewValue> values);
  /// Parameters that start from their initialisers although others were inserted: a new head, say
  /// (SessionOptions::start_missing allows it to all).
  void start_anew(const std::vector<std::string>& names);
  /// Removes all variables of a kind: caches are made anew at their next use.
  void erase(VariableKind kind);

  /// A run failed after it had begun to write variables: old and new values are mixed. Such a store
  /// can neither be run nor read.
  bool torn() const;
  /// Throws StateError if the store is torn; `what` says what was asked for ("saved").
  void check_whole(std::string_view what) const;

  /// Bytes per variable, by name in order of creation, and in total, with the copies that Sessions
  /// packed (SessionOptions::prepack).
  struct MemoryEntry {
    std::string name;
    VariableKind kind;
    std::string type;
    std::size_t bytes;
    std::size_t packed_bytes = 0;
  };
  std::vector<MemoryEntry> memory() const;
  std::size_t bytes() const;

 private:
  friend class StoreAccess;
  struct Entry {
    std::string name;
    VariableKind kind = VariableKind::parameter;
    Tensor value;
    std::uint64_t version = 0;
    bool inserted = false;  // not started by a Session
  };
  const Entry& at(std::string_view name) const;
  Entry& at(std::string_view name) {
    return const_cast<Entry&>(static_cast<const VariableStore*>(this)->at(name));
  }
  void check_whole_locked(std::string_view what) const;
  bool torn_locked() const { return torn_ || (coming_ != nullptr && coming_->lost()); }
  // Locks when a variable, or all, have the values that are coming.
  template <class Lock>
  Lock lock_when_come(const std::string_view* name = nullptr) const;

  // A parameter or buffer was inserted: one that is absent was forgotten, or has another name.
  bool given() const;
  void erase_if(const std::function<bool(const Entry&)>& gone);

  // Readers hold it while they take their handles; a run that updates holds it from its first look
  // at the tensors until all updates are written.
  mutable std::shared_mutex mutex_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> index_;
  PackedWeights packed_;
  std::set<std::string, std::less<>> anew_;
  bool torn_ = false;
  std::shared_ptr<ComingValues> coming_;  // null where none are
  const void* writer_ = nullptr;          // the Session that may update
};

/// What Sessions do with a store; not for users.
class StoreAccess {
 public:
  explicit StoreAccess(VariableStore& store) : store_(store) {}

  /// A variable that a program needs.
  struct Wanted {
    VariableInfo info;
    Sizes sizes = {};
  };
  /// How variables start that are absent.
  struct Start {
    std::uint64_t seed = 0;
    Workers* workers = nullptr;
    bool missing = false;          // also what a store that was given others lacks
    const Graph* graph = nullptr;  // for the names in messages
  };
  /// Adds those variables that are absent, with their start values, and returns their names; of the
  /// others it checks kind, dtype and sizes (StateError naming both). Throws StateError that lists
  /// parameters and buffers which a store lacks that was given others.
  std::vector<std::string> ensure(const std::vector<Wanted>& variables, const Start& start);
  /// Removes variables by name.
  void erase(const std::vector<std::string>& names);
  /// Makes `session` the writer; throws StateError with `why` if another one is.
  void become_writer(const void* session, std::string_view why);
  /// `session` is no longer the writer.
  void release_writer(const void* session);

  /// Of new values that other ranks are still sending: waited for, or let pass.
  enum class Coming { wait, pass };
  /// While one lives, nobody else writes; while the other does, nobody else reads either.
  std::shared_lock<std::shared_mutex> read_lock(Coming coming = Coming::pass);
  std::unique_lock<std::shared_mutex> write_lock(Coming coming = Coming::pass);

  // Under a lock:
  void check_whole() const { store_.check_whole_locked("run"); }
  /// The tensor, which must not be written.
  Tensor value(std::string_view name) const { return store_.at(name).value; }
  /// The tensor, in memory that nobody else sees (copied first if it is shared: copy on write).
  Tensor& writable(std::string_view name);
  /// VariableStore::version(), and one more from now on.
  std::uint64_t version(std::string_view name) const { return store_.at(name).version; }
  void updated(std::string_view name) {
    ++store_.at(name).version;
    store_.packed_.drop(name);
  }
  /// Needs no lock.
  PackedWeights& packed() { return store_.packed_; }
  /// From here on readers wait for these.
  void set_coming(std::shared_ptr<ComingValues> values) { store_.coming_ = std::move(values); }
  /// Old and new values are mixed from here on.
  void tear() { store_.torn_ = true; }

 private:
  void check_given(const std::vector<const Wanted*>& absent, const Start& start) const;

  VariableStore& store_;
};

/// True if `buffer` is the only owner left, and everything that former owners did has happened
/// before.
bool sole_owner(const std::shared_ptr<Buffer>& buffer);

}  // namespace weft
