// VariableStore: the tensors of variables, shared by Sessions. Several Sessions may read while one
// writes.
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
#include "weft/graph/engine/packed_weights.h"
#include "weft/graph/engine/pending_updates.h"
#include "weft/graph/ir/variable.h"

namespace WEFT_API weft {

class Graph;

/// Fills `value` with the initial value of a variable, a function of only its initialiser, dtype,
/// sizes, name and `seed`. Element i is computed in double from word i of a Philox stream keyed by
/// stable_hash(name, seed) and rounded to the dtype. A key becomes {stable_hash(name, seed), 0}.
/// Throws ArgumentError if the initialiser does not support the dtype or if its parameters are
/// invalid.
void fill_initial_value(const VariableInfo& info, std::uint64_t seed, Workers& workers,
                        Tensor& value);

/// Named tensors, each with a kind and a version. Thread-safe. The returned tensors are read-only
/// snapshots: if the tensor of a variable has another owner, or its memory is read-only (a mapped
/// file), an update writes to fresh memory. Values change only through set(), assign() and runs.
/// Reads wait for parameters that other ranks are still sending (SessionOptions::overlap), so
/// tensor(), snapshot(), check_whole() and runs can throw a WorldError.
class VariableStore {
 public:
  VariableStore() = default;
  VariableStore(const VariableStore&) = delete;
  VariableStore& operator=(const VariableStore&) = delete;

  /// Returns true if there is a variable of this name.
  bool contains(std::string_view name) const;
  /// Returns all names in creation order.
  std::vector<std::string> names() const;
  /// Returns the kind of a variable. For an unknown name, this function and the functions below
  /// throw a GraphError that lists the existing names.
  VariableKind kind(std::string_view name) const;
  /// Returns the number of times that the value was set or updated.
  std::uint64_t version(std::string_view name) const;
  /// Returns a snapshot of the value. Throws StateError if the store is torn.
  Tensor tensor(std::string_view name) const;
  /// Returns a consistent snapshot of all variables between two updates, so that they can be saved
  /// during training.
  std::map<std::string, Tensor, std::less<>> snapshot() const;
  /// Adds a variable (for example, one loaded from a file). Read-only memory and tensors without
  /// another owner (moved in) are used directly; anything else is copied. Throws StateError if the
  /// name is taken.
  void insert(std::string_view name, VariableKind kind, Tensor value);
  /// Replaces the value. The new value is copied under the same conditions as in insert(). Throws
  /// DTypeError or ShapeError if the dtype or sizes would change.
  void set(std::string_view name, Tensor value);
  /// A variable for assign().
  struct NewValue {
    std::string name;
    VariableKind kind = {};
    Tensor value = {};
  };
  /// Inserts the variables that do not exist and sets the others, in one atomic operation. If any
  /// value has the wrong type (see set()), nothing changes. Throws StateError if the store is torn.
  void assign(std::vector<NewValue> values);
  /// Allows the named parameters (for example, those of a new head) to be initialised although
  /// other variables were inserted. SessionOptions::initialise_missing allows this for all
  /// variables.
  void allow_initialisation(const std::vector<std::string>& names);
  /// Removes all variables of a kind. Caches are created again at their next use.
  void erase(VariableKind kind);

  /// Returns true if a run failed after it had begun to write variables, so that old and new values
  /// are mixed. Such a store can neither be used by runs nor read.
  bool torn() const;
  /// Throws StateError if the store is torn; `what` is the participle of the attempted operation
  /// ("saved").
  void check_whole(std::string_view what) const;

  /// The memory of one variable. `packed_bytes` is the size of the packed copies that Sessions made
  /// (SessionOptions::prepack).
  struct MemoryEntry {
    std::string name;
    VariableKind kind;
    std::string type;
    std::size_t bytes;
    std::size_t packed_bytes = 0;
  };
  /// Returns the memory of each variable, in creation order.
  std::vector<MemoryEntry> memory() const;
  /// Returns the bytes of all variables, including packed copies.
  std::size_t bytes() const;

 private:
  friend class StoreAccess;
  struct Entry {
    std::string name;
    VariableKind kind = VariableKind::parameter;
    Tensor value;
    std::uint64_t version = 0;
    bool inserted = false;  // inserted by a user, not initialised by a Session
  };
  const Entry& at(std::string_view name) const;
  Entry& at(std::string_view name) {
    return const_cast<Entry&>(static_cast<const VariableStore*>(this)->at(name));
  }
  void check_whole_locked(std::string_view what) const;
  bool torn_locked() const { return torn_ || (pending_ != nullptr && pending_->lost()); }
  // Waits until the pending update of variable `name` (or of all variables, if it is null) has
  // arrived, then locks.
  template <class Lock>
  Lock lock_when_arrived(const std::string_view* name = nullptr) const;

  // Returns true if a parameter or buffer was inserted. In this case, a missing variable was
  // probably forgotten or misnamed.
  bool given() const;
  void erase_if(const std::function<bool(const Entry&)>& gone);

  // Readers hold the mutex while they copy handles. A run with updates holds it from the first
  // access to the tensors until all updates are written.
  mutable std::shared_mutex mutex_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> index_;
  PackedWeights packed_;
  std::set<std::string, std::less<>> initialisable_;
  bool torn_ = false;
  std::shared_ptr<PendingUpdates> pending_;  // null if no update is pending
  const void* writer_ = nullptr;             // the Session that may update variables
};

/// The operations of Sessions on a store; not for users.
class StoreAccess {
 public:
  explicit StoreAccess(VariableStore& store) : store_(store) {}

  /// A variable that a program needs.
  struct Wanted {
    VariableInfo info;
    Sizes sizes = {};
  };
  /// How missing variables are initialised.
  struct Start {
    std::uint64_t seed = 0;
    Workers* workers = nullptr;
    bool missing = false;          // initialise variables even if others were inserted
    const Graph* graph = nullptr;  // for the names in messages
  };
  /// Adds missing variables with their initial values and returns their names. Checks the kinds,
  /// dtypes and sizes of the other variables (throws a StateError that names both types). If other
  /// variables were inserted into the store, throws a StateError that lists the missing parameters
  /// and buffers.
  std::vector<std::string> ensure(const std::vector<Wanted>& variables, const Start& start);
  /// Removes variables by name.
  void erase(const std::vector<std::string>& names);
  /// Makes `session` the writer. If another Session is the writer, throws a StateError that
  /// contains `why`.
  void become_writer(const void* session, std::string_view why);
  /// Releases the writer role of `session`.
  void release_writer(const void* session);

  /// How to handle updates that other ranks are still sending.
  enum class Pending { wait, ignore };
  /// A read lock excludes all writers; a write lock excludes readers as well.
  std::shared_lock<std::shared_mutex> read_lock(Pending pending = Pending::ignore);
  std::unique_lock<std::shared_mutex> write_lock(Pending pending = Pending::ignore);

  // A lock must be held when the functions below are called.
  void check_whole() const { store_.check_whole_locked("run"); }
  /// Returns the tensor, which must not be written.
  Tensor value(std::string_view name) const { return store_.at(name).value; }
  /// Returns the tensor for writing. If its memory has another owner, the tensor is copied first
  /// (copy on write).
  Tensor& writable(std::string_view name);
  /// version() returns VariableStore::version(); updated() increments it and drops packed copies.
  std::uint64_t version(std::string_view name) const { return store_.at(name).version; }
  void updated(std::string_view name) {
    ++store_.at(name).version;
    store_.packed_.drop(name);
  }
  /// Requires no lock.
  PackedWeights& packed() { return store_.packed_; }
  /// Makes readers wait for these updates from then on.
  void set_pending(std::shared_ptr<PendingUpdates> values) { store_.pending_ = std::move(values); }
  /// Marks the store as torn: old and new values are mixed.
  void tear() { store_.torn_ = true; }

 private:
  void check_given(const std::vector<const Wanted*>& absent, const Start& start) const;

  VariableStore& store_;
};

/// Returns true if `buffer` has no other owner. All accesses by former owners then happen before
/// the return.
bool sole_owner(const std::shared_ptr<Buffer>& buffer);

}  // namespace weft
